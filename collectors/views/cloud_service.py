"""cloud_service: whether the database is Autonomous, where a session is ended in another way. Read on request, in a hang."""

from collectors.model import Collector, Column, ColumnKind

CLOUD_SERVICE = Collector(
    view="cloud_service",
    about="the cloud service that the database belongs to; one row",
    columns=(Column("cloud_service", ColumnKind.KEY, "", "such as OLTP or DWCS on Autonomous; null elsewhere"),),
    statements={
        "18": """
            select /* latchscope cloud_service */
                   sys_context('userenv', 'cloud_service') as cloud_service
              from dual""",
    },
    without="whether the database is Autonomous",
    granted_on="",
    on_request=True,
    optional=True,
    momentary=True,
    after=("v$instance",),
)
