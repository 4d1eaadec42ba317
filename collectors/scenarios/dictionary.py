"""The row caches of the scripted instances. Each script decides which child guards which cache, as each real instance does."""

from collectors.simulator.scenario import Cache

# Background work gives every cache a few gets, each at its own rate.
RELEASE_11_2 = (
    Cache(1, 3, "dc_rollback_segments", entries=96, extra_gets=41),
    Cache(2, 1, "dc_free_extents", entries=0),
    Cache(3, 4, "dc_used_extents", entries=0),
    Cache(4, 2, "dc_segments", entries=2310, extra_gets=9),
    Cache(5, 0, "dc_tablespaces", entries=41, extra_gets=23),
    Cache(6, 5, "dc_tablespace_quotas", entries=3),
    Cache(7, 6, "dc_files", entries=118, extra_gets=0.2),
    Cache(8, 10, "dc_users", entries=214, extra_gets=13),
    Cache(8, 7, "dc_users", "SUBORDINATE", 0, entries=120),
    Cache(8, 7, "dc_users", "SUBORDINATE", 1, entries=12),
    Cache(8, 7, "dc_users", "SUBORDINATE", 2, entries=0),
    Cache(9, 8, "dc_objects", entries=5120, extra_gets=17),
    Cache(9, 8, "dc_object_grants", "SUBORDINATE", 0, entries=340, extra_gets=5),
    Cache(10, 17, "dc_global_oids", entries=60, extra_gets=0.4),
    Cache(11, 12, "dc_constraints", entries=90, extra_gets=0.1),
    Cache(12, 13, "dc_sequences", entries=44, extra_gets=0.7),
    Cache(13, 16, "dc_histogram_defs", entries=7810, extra_gets=11),
    Cache(13, 16, "dc_histogram_data", "SUBORDINATE", 0, entries=2400, extra_gets=7),
    Cache(13, 16, "dc_histogram_data", "SUBORDINATE", 1, entries=600),
    Cache(15, 19, "dc_table_scns", entries=2, extra_gets=0.05),
    Cache(15, 19, "dc_partition_scns", "SUBORDINATE", 0, entries=0),
    Cache(17, 14, "dc_profiles", entries=4, extra_gets=1.9),
    Cache(32, 15, "global database name", entries=1, extra_gets=3.1),
    Cache(46, 24, "outstanding_alerts", entries=18, extra_gets=0.03),
    Cache(47, 22, "dc_awr_control", entries=1, extra_gets=0.02),
)

RELEASE_12_1 = (
    *(cache for cache in RELEASE_11_2 if cache.name != "global database name"),
    Cache(18, 15, "dc_props", entries=61, extra_gets=3.1),
    Cache(52, 54, "dc_cdbprops", entries=2, extra_gets=0.2),
)

RELEASE_19 = (
    *(cache for cache in RELEASE_12_1 if cache.cache not in (13,)),
    Cache(12, 13, "dc_sequences", entries=51, extra_gets=0.7),
    Cache(53, 56, "dc_realtime_colst", entries=120, extra_gets=0.6),
    Cache(54, 57, "dc_realtime_tabst", entries=40, extra_gets=0.5),
)
