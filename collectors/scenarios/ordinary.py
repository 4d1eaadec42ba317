"""The ordinary day that every scripted instance comes from: a few thousand executions a second, nobody waits for long."""

from collectors.simulator.scenario import Child, ScriptedLoad

ORDINARY = ScriptedLoad(
    gets={
        "dc_users": 2600,
        "dc_tablespaces": 1900,
        "dc_objects": 1150,
        "dc_segments": 420,
        "dc_histogram_defs": 640,
        "dc_histogram_data": 260,
        "dc_rollback_segments": 310,
        "dc_global_oids": 8,
        "dc_sequences": 6,
        "dc_profiles": 4,
        "dc_props": 90,
        "global database name": 70,
    },
    modifications={"dc_sequences": 6, "dc_segments": 0.3, "dc_objects": 0.1},
    children={8: Child(sleeps=0.35), 5: Child(sleeps=0.12), 9: Child(sleeps=0.1), 13: Child(sleeps=0.06)},
    holders={"kqreqd: reget": 0.74, "kqrpre: find obj": 0.15, "kqreqd": 0.06, "kqrso": 0.05},
    waiters={"kqrpre: find obj": 0.82, "kqreqd": 0.09, "kqreqd: reget": 0.05, "kqrso": 0.04},
    events={"library cache: mutex X": (3.0, 0.002), "cursor: pin S wait on X": (0.2, 0.001)},
    seconds={
        "DB time": 5.2,
        "DB CPU": 3.4,
        "parse time elapsed": 0.21,
        "hard parse elapsed time": 0.12,
        "failed parse elapsed time": 0.002,
        "connection management call elapsed time": 0.01,
        "sequence load elapsed time": 0.003,
    },
    statistics={
        "parse count (total)": 850,
        "parse count (hard)": 6,
        "parse count (failures)": 0.1,
        "execute count": 4200,
        "logons cumulative": 1.4,
        "user calls": 2900,
        "user commits": 210,
        "user rollbacks": 2,
        "recursive calls": 1500,
        "session cursor cache hits": 610,
    },
    latches={
        "cache buffers chains": (190000, 0.4, 0.0004),
        "shared pool": (5200, 0.2, 0.0003),
        "redo allocation": (2300, 0.05, 0.0001),
        "Result Cache: RC Latch": (120, 0.0, 0.0),
    },
)
