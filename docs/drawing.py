"""Panels of a dashboard as HTML and SVG, from what a Prometheus answers to their own queries: Grafana's layout, our drawing."""

import json
import math
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from html import escape
from typing import Any

CELL, WIDTH = 38, 1600
FASTER = 15
"""How much shorter the windows of the recording rules are here: the scripts last two minutes."""
COLOURS = ("#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#b877d9", "#37872d", "#5794f2")
NAMED = {"green": "#56a64b", "blue": "#3274d9", "orange": "#ff9830", "red": "#e02f44", "text": "#ccccdc"}
Json = dict[str, Any]


class Live:
    """A Prometheus, and the time range of the pictures."""

    def __init__(self, address: str, begin: float, end: float) -> None:
        self.address, self.begin, self.end = address, begin, end

    def ask(self, expr: str, db: str, *, over_time: bool) -> list[Json]:
        """The series that a panel's query gives."""
        whole = f"{max(int(self.end - self.begin), 60)}s"
        known = {"$rac": ".*", "$db": db, "$job": ".+", "$instance": ".+", "$__rate_interval": "20s", "$__range": whole}
        for name, value in known.items():
            expr = expr.replace(name, value)
        params: dict[str, Any] = {"query": expr, "time": self.end}
        if over_time:
            params = {"query": expr, "start": self.begin, "end": self.end, "step": 2}
        url = f"{self.address}/api/v1/query{'_range' if over_time else ''}?{urllib.parse.urlencode(params)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            found: list[Json] = json.loads(answer.read())["data"]["result"]
        return found


def legend(target: Json, labels: Json) -> str:
    """The name of a series."""
    text: str = target["legendFormat"] or ", ".join(labels.values())
    for name, value in labels.items():
        text = text.replace("{{" + name + "}}", value)
    return text.strip()


def shown(value: float, unit: str) -> str:
    """A value with its unit."""
    if unit == "percentunit":
        return f"{value * 100:.1f} %"
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB" if value >= 2**20 else f"{value / 1024:.0f} KiB"
    if unit.startswith("dateTime"):
        return time.strftime("%H:%M:%S", time.gmtime(value / 1000))
    if unit == "bool_yes_no":
        return "Yes" if value else "No"
    if unit == "s":
        return f"{value / 86400:.1f} d" if value > 86400 else f"{value:.3g} s"
    return f"{value:,.0f}" if unit == "none" or abs(value) >= 100 else f"{value:.2f}"


def colour_of(value: float, field: Json) -> str:
    """The colour that the thresholds give a value."""
    steps = field.get("thresholds", {}).get("steps", [])
    chosen = [step["color"] for step in steps if step["value"] is None or value >= step["value"]]
    return NAMED.get(chosen[-1] if chosen else "text", "#ccccdc")


def words_of(field: Json) -> Json:
    """Value → its text and colour."""
    return {key: one for mapping in field.get("mappings", []) for key, one in mapping["options"].items()}


def stat(panel: Json, live: Live, db: str) -> str:
    """One figure."""
    target, field = panel["targets"][0], panel["fieldConfig"]["defaults"]
    found = live.ask(target["expr"], db, over_time=False)
    if not found:
        return f'<div class="figure">{escape(field["noValue"])}</div>'
    value = float(found[0]["value"][1])
    mapped = words_of(field).get(f"{value:g}")
    text = mapped["text"] if mapped else shown(value, field["unit"])
    if panel["options"]["textMode"] == "name":
        text = legend(target, found[0]["metric"])
    colour = NAMED[mapped["color"]] if mapped else colour_of(value, field)
    size = 36 if len(text) < 12 else 22
    return f'<div class="figure" style="color:{colour};font-size:{size}px">{escape(text)}</div>'


def ticks(top: float) -> list[float]:
    """Three to six round values from zero on."""
    rough = top / 5
    unit = 10 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    return [step * count for count in range(int(top / step) + 1)]


def at_tick(value: float, unit: str) -> str:
    """A round value, without digits that say nothing."""
    if unit == "percentunit":
        return f"{value * 100:g} %"
    return shown(value, unit) if unit in ("bytes", "s") else f"{value:,.12g}"


def clock(live: Live, left: float, wide: float, deep: float) -> Iterator[str]:
    """The time below a graph."""
    for part in (0, 0.25, 0.5, 0.75, 1):
        words = time.strftime("%H:%M:%S", time.gmtime(live.begin + part * (live.end - live.begin)))
        anchor = "start" if part == 0 else "end" if part == 1 else "middle"
        yield (
            f'<text x="{left + part * wide:.0f}" y="{deep + 14:.0f}" class="axis" style="text-anchor:{anchor}">{words}</text>'
        )


def lines(panel: Json, live: Live, db: str, w: int, h: int) -> str:
    """Lines over time with the largest in the legend."""
    field = panel["fieldConfig"]["defaults"]
    series = [
        (legend(target, one["metric"]), [(float(at), float(value)) for at, value in one["values"] if value != "NaN"])
        for target in panel["targets"]
        for one in live.ask(target["expr"], db, over_time=True)
    ]
    series = sorted([one for one in series if one[1]], key=lambda one: -max(value for _, value in one[1]))
    if not series:
        return '<div class="none">No data</div>'
    rows = min(len(series), 4 if h > 200 else 3)
    deep, wide = h - 16 * rows - 26, w - 60
    top = max(max(value for _, value in values) for _, values in series) * 1.1 or 1.0
    span = max(live.end - live.begin, 1.0)

    def y(value: float) -> float:
        return deep - value / top * (deep - 8)

    drawn = list(clock(live, 50, wide, deep))
    for tick in ticks(top):
        drawn.append(f'<line x1="50" x2="{w - 8}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
        drawn.append(f'<text x="46" y="{y(tick) + 4:.1f}" class="axis">{at_tick(tick, field["unit"])}</text>')
    if field["custom"].get("thresholdsStyle"):
        drawn += [
            f'<path d="M50 {y(step["value"]):.1f}H{w - 8}" stroke="{NAMED[step["color"]]}" stroke-dasharray="6 4"/>'
            for step in field["thresholds"]["steps"]
            if step["value"] is not None and step["value"] <= top
        ]
    for place, (_, values) in enumerate(series):
        points = " ".join(f"{50 + (at - live.begin) / span * wide:.1f},{y(value):.1f}" for at, value in values)
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[place % 8]}" stroke-width="1.6"/>')
    for place, (name, values) in enumerate(series[:rows]):
        at, last, most = deep + 34 + 16 * place, values[-1][1], max(value for _, value in values)
        drawn.append(f'<rect x="8" y="{at - 8}" width="14" height="4" fill="{COLOURS[place % 8]}"/>')
        drawn.append(f'<text x="28" y="{at}" class="name">{escape(name[:70])}</text>')
        drawn.append(
            f'<text x="{w - 10}" y="{at}" class="axis">{shown(last, field["unit"])} · max {shown(most, field["unit"])}</text>'
        )
    return f'<svg width="{w}" height="{h}">{"".join(drawn)}</svg>'


def bands(panel: Json, live: Live, db: str, w: int, h: int) -> str:
    """A coloured band per series."""
    words, drawn = words_of(panel["fieldConfig"]["defaults"]), list[str]()
    series = [
        (legend(t, one["metric"]), one["values"])
        for t in panel["targets"]
        for one in live.ask(t["expr"], db, over_time=True)
    ]
    tall, span = min(34, (h - 26) // max(len(series), 1)), max(live.end - live.begin, 1.0)
    gap = 3 if tall > 12 else 1
    drawn += clock(live, 250, w - 262, tall * len(series))
    for place, (name, values) in enumerate(series):
        drawn.append(f'<text x="8" y="{place * tall + tall * 0.65:.0f}" class="name">{escape(name[:34])}</text>')
        for at, value in values:
            colour = NAMED.get(words.get(value, {}).get("color", "text"), "#ccccdc")
            x, step = 250 + (float(at) - live.begin) / span * (w - 262), 2 / span * (w - 262) + 0.5
            drawn.append(
                f'<rect x="{x:.1f}" y="{place * tall + gap}" width="{step:.1f}" height="{tall - 2 * gap}" fill="{colour}"/>'
            )
    return f'<svg width="{w}" height="{h}">{"".join(drawn)}</svg>' if series else '<div class="none">No data</div>'


def rows(panel: Json, live: Live, db: str) -> str:
    """A table, as its queries are merged and its columns named."""
    organised = panel["transformations"][1]["options"]
    merged: list[Json] = []
    for target in panel["targets"]:
        value = f"Value #{target['refId']}" if len(panel["targets"]) > 1 else "Value"
        for one in live.ask(target["expr"], db, over_time=False):
            told = {**one["metric"], value: one["value"][1]}
            same = [
                row for row in merged if all(row.get(k) == v for k, v in one["metric"].items()) and value not in row
            ]
            same[0].update(told) if same else merged.append(told)
    overrides: dict[str, Json] = {}
    for one in panel["fieldConfig"]["overrides"]:
        column = overrides.setdefault(one["matcher"]["options"], {})
        column.update({each["id"]: each["value"] for each in one["properties"]})
    names = sorted({key for row in merged for key in row}, key=lambda key: organised["indexByName"].get(key, 99))
    columns = [(key, organised["renameByName"].get(key, key)) for key in names if key not in organised["excludeByName"]]
    columns = [one for one in columns if not overrides.get(one[1], {}).get("custom.hidden")]
    for sort in panel["options"].get("sortBy", []):
        key = next((key for key, name in columns if name == sort["displayName"]), "")
        merged.sort(key=lambda row: -float(row.get(key, 0)))
    body = []
    for row in merged:
        cells = []
        for key, name in columns:
            text, style, unit = row.get(key, ""), "", overrides.get(name, {}).get("unit")
            mapped = words_of({"mappings": overrides.get(name, {}).get("mappings", [])}).get(text)
            if mapped:
                text, style = mapped["text"], f"background:{NAMED[mapped['color']]};color:#fff"
            elif unit and text:
                text = shown(float(text), unit)
            cells.append(f'<td style="{style}">{escape(text)}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{escape(name)}</th>" for _, name in columns)
    return f"<table><tr>{heads}</tr>{''.join(body)}</table>" if merged else '<div class="none">No data</div>'


def bars(panel: Json, live: Live, db: str) -> str:
    """A bar per series."""
    found = live.ask(panel["targets"][0]["expr"], db, over_time=False)
    most = max((float(one["value"][1]) for one in found), default=1.0) or 1.0
    unit = panel["fieldConfig"]["defaults"]["unit"]
    return "".join(
        f'<div class="bar"><span>{escape(legend(panel["targets"][0], one["metric"]))}</span>'
        f'<i style="width:{float(one["value"][1]) / most * 50:.0f}%"></i>{shown(float(one["value"][1]), unit)}</div>'
        for one in found
    )


HEAD = "<header>{} <small>drawn from live answers, not by Grafana; a minute of the rules is {} s here</small></header>"
STYLE = """body{margin:0;background:#111217;color:#ccccdc;font:13px Inter,Helvetica,Arial,sans-serif}
.p{position:absolute;background:#181b1f;border:1px solid #2c3235;border-radius:2px;overflow:hidden}
.p h2{font:500 13px Inter,Helvetica,Arial;margin:6px 8px 2px}.row{position:absolute;left:8px;font-weight:500}
.figure{font-size:36px;text-align:center;margin-top:22px;font-weight:500}.none{color:#777;text-align:center;margin-top:20px}
.grid{stroke:#2c3235}.axis{fill:#9fa7b3;font-size:11px;text-anchor:end}.name{fill:#ccccdc;font-size:11px}
table{border-collapse:collapse;width:100%}td,th{padding:5px 8px;text-align:left;border-top:1px solid #2c3235;font-size:12px}
th{color:#6e9fff}
.bar{display:flex;align-items:center;gap:8px;margin:4px 8px}.bar span{width:40%}.bar i{background:#73bf69;height:14px}
header{padding:9px 12px;font-size:15px;font-weight:500}header small{color:#9fa7b3;font-weight:400}"""


def drawn(panel: Json, live: Live, db: str, w: int, h: int) -> str:
    """What stands in a panel."""
    kind = panel["type"]
    if kind == "stat":
        return stat(panel, live, db)
    if kind == "timeseries":
        return lines(panel, live, db, w, h)
    if kind == "state-timeline":
        return bands(panel, live, db, w, h)
    return rows(panel, live, db) if kind == "table" else bars(panel, live, db)


def page(dashboard: Json, live: Live, db: str) -> tuple[str, int]:
    """A dashboard as HTML, and how tall it is."""
    parts, bottom, unit = [], 0, (WIDTH - 8) / 24
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        x, y = place["x"] * unit + 8, place["y"] * CELL + 44
        w, h = int(place["w"] * unit - 8), int(place["h"] * CELL - 8)
        bottom = max(bottom, int(y + h))
        if panel["type"] == "row":
            sign = "▸" if panel["collapsed"] else "▾"
            parts.append(f'<div class="row" style="top:{y + 6:.0f}px">{sign} {escape(panel["title"])}</div>')
            continue
        inside = drawn(panel, live, db, w, h - 28)
        parts.append(
            f'<div class="p" style="left:{x:.0f}px;top:{y:.0f}px;width:{w}px;height:{h}px">'
            f"<h2>{escape(panel['title'])}</h2>{inside}</div>"
        )
    about = f" · {escape(db)}" if db != ".+" else ""
    head = HEAD.format(escape(dashboard["title"]) + about, 60 // FASTER)
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{head}{''.join(parts)}", bottom + 12
