"""Everything SQLAlchemy: tables, queries, migrations."""
