"""Part of the Python runner: the data of a matplotlib figure, in the form that E2B's clients know as `chart`."""

import re

from matplotlib import dates
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle, Wedge
from matplotlib.text import Text

UNIT = re.compile(r"\s\((.*?)\)|\[(.*?)\]")  # "Time (s)", "Time [s]"


def round_digits(value, digits=9):
    """Geometry is computed with rounding errors, which the chart's author has not put there."""
    return float("%.*g" % (digits, value))


def is_grid_line(line):
    x, y = line.get_xdata(), line.get_ydata()
    return len(x) == len(y) == 2 and (x[0] == x[1] or y[0] == y[1])


def get_kind(axes):
    artists = [child for child in axes.get_children() if child in set(axes._children) and not isinstance(child, Text)]
    if all(isinstance(artist, Line2D) for artist in artists):
        return "line"
    if all(isinstance(artist, (Line2D, PathPatch)) for artist in artists):
        return "box_and_whisker"
    artists = [artist for artist in artists if not (isinstance(artist, Line2D) and is_grid_line(artist))]
    for kind, artist_class in (("scatter", PathCollection), ("pie", Wedge), ("bar", Rectangle)):
        if all(isinstance(artist, artist_class) for artist in artists):
            return kind
    return "unknown"


# ---- axes ----


def get_unit(label):
    match = UNIT.search(label or "")
    return (match.group(1) or match.group(2)) if match else None


def make_labels(axes):
    x, y = axes.get_xlabel() or None, axes.get_ylabel() or None
    return {"x_label": x, "y_label": y, "x_unit": get_unit(x), "y_unit": get_unit(y)}


def swap_labels(chart):
    for what in ("label", "unit"):
        chart["x_" + what], chart["y_" + what] = chart["y_" + what], chart["x_" + what]


def get_tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def make_axis(axis, prefix):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    ticks = axis.get_majorticklocs()
    if "Date" in kind:
        scale, ticks = "datetime", [dates.num2date(tick).isoformat() for tick in ticks]
    else:
        scale = "categorical" if "Category" in kind else axis.get_scale()
        ticks = [float(tick) for tick in ticks]
    return {prefix + "ticks": ticks, prefix + "tick_labels": get_tick_labels(axis), prefix + "scale": scale}


def make_planar(axes):
    chart = make_labels(axes)
    chart.update(make_axis(axes.xaxis, "x_"))
    chart.update(make_axis(axes.yaxis, "y_"))
    return chart


# ---- the kinds ----


def make_coordinate(value):
    if type(value).__name__ == "datetime64":
        return str(value.astype("datetime64[s]"))
    return value.item() if hasattr(value, "item") else value


def make_points(pairs):
    return [[make_coordinate(x), make_coordinate(y)] for x, y in pairs]


def make_line(axes):
    chart, elements = make_planar(axes), []
    for line in axes.get_lines():
        if is_grid_line(line):
            continue
        label = str(line.get_label())
        if label.startswith("_child"):
            label = "Line " + label[len("_child") :]
        elements.append({"label": label, "points": make_points(zip(line.get_xdata(), line.get_ydata()))})
    return dict(chart, elements=elements)


def make_scatter(axes):
    return dict(
        make_planar(axes),
        elements=[
            {"label": str(group.get_label()), "points": make_points(group.get_offsets())}
            for group in axes.collections
        ],
    )


def make_bar(axes):
    chart, elements, is_horizontal = make_labels(axes), [], False
    for container in axes.containers:
        group = str(container.get_label())
        if group.startswith("_container"):
            group = "Group " + group[len("_container") :]
        is_horizontal = getattr(container, "orientation", "vertical") == "horizontal"
        for label, bar in zip(get_tick_labels(axes.yaxis if is_horizontal else axes.xaxis), container):
            value = bar.get_width() if is_horizontal else bar.get_height()
            elements.append({"label": label, "group": group, "value": float(value)})
    if is_horizontal:
        swap_labels(chart)
    return dict(chart, elements=elements)


def make_pie(axes):
    return {
        "elements": [
            {
                "label": str(wedge.get_label()),
                "angle": abs(round_digits(wedge.theta2 - wedge.theta1, 7)),
                "radius": float(wedge.r),
            }
            for wedge in axes.patches
            if isinstance(wedge, Wedge)
        ]
    }


def get_extent(path, axis):
    values = [round_digits(value) for value in path.get_path().vertices[:, axis]]
    return min(values), max(values)


def get_line(line, axis):
    """Positions and values of a line."""
    data = [[round_digits(float(value)) for value in values] for values in (line.get_xdata(), line.get_ydata())]
    return data[axis], data[1 - axis]


def read_box(box, label, lines, axis):
    """One box and the lines around it. `axis` is 0 when the boxes are at positions of x. None: no such orientation."""
    left, right = get_extent(box, axis)
    low, high = get_extent(box, 1 - axis)
    element = {
        "label": label,
        "min": low,
        "first_quartile": low,
        "median": None,
        "third_quartile": high,
        "max": high,
        "outliers": [],
    }
    for line in lines:
        positions, values = get_line(line, axis)
        if not positions or min(positions) < left or max(positions) > right:
            continue
        if line.get_marker() not in ("None", None, "", " ") and line.get_linestyle() == "None":
            element["outliers"] += values
        elif len(values) == 2 and positions[0] == positions[1]:  # a whisker
            element["min"], element["max"] = min(element["min"], *values), max(element["max"], *values)
        elif (
            len(values) == 2
            and values[0] == values[1]
            and low <= values[0] <= high
            and (min(positions) == left and max(positions) == right)
        ):
            element["median"] = values[0]
    return None if element["median"] is None else element


def make_box_and_whisker(axes):
    boxes = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    for axis in (0, 1):
        labels = get_tick_labels((axes.xaxis, axes.yaxis)[axis])
        elements = [read_box(box, label, axes.lines, axis) for box, label in zip(boxes, labels)]
        if all(elements):
            break
    chart = make_labels(axes)
    if axis == 1:
        swap_labels(chart)
    return dict(chart, elements=[element for element in elements if element])


KINDS = {
    "line": make_line,
    "scatter": make_scatter,
    "bar": make_bar,
    "pie": make_pie,
    "box_and_whisker": make_box_and_whisker,
}


def make_chart_of_axes(axes):
    kind = get_kind(axes)
    chart = {"type": kind, "title": axes.get_title() or None, "elements": []}
    if kind in KINDS:
        chart.update(KINDS[kind](axes))
    return chart


def make_chart(figure):
    """The chart of a figure that was drawn; None: nothing is in it."""
    if not any(axes.has_data() for axes in figure.axes):
        return None
    if len(figure.axes) == 1:
        return make_chart_of_axes(figure.axes[0])
    title = figure._suptitle.get_text() if figure._suptitle else None
    return {"type": "superchart", "title": title, "elements": [make_chart_of_axes(axes) for axes in figure.axes]}
