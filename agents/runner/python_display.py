"""Part of the Python runner: rich results, display(), and hooks for matplotlib, Pillow and IPython."""

import base64
import json
import math
import sys

from callgate_runner import emit, load

JSON_DEPTH_MAX = 40
JSON_ITEMS_MAX = 200000  # of a result's "json" and "data"

FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}

METHODS = {
    "_repr_html_": "html",
    "_repr_markdown_": "markdown",
    "_repr_svg_": "svg",
    "_repr_png_": "png",
    "_repr_jpeg_": "jpeg",
    "_repr_pdf_": "pdf",
    "_repr_latex_": "latex",
    "_repr_json_": "json",
    "_repr_javascript_": "javascript",
}


# ---- JSON ----


class NotJson(Exception):
    pass


def make_plain(value, depth=0, counter=None):
    """The value as JSON has it: NaN is null, keys are texts, numpy's numbers are numbers, dates are texts."""
    counter = counter if counter is not None else [0]
    counter[0] += 1
    if depth > JSON_DEPTH_MAX or counter[0] > JSON_ITEMS_MAX:
        raise NotJson
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): make_plain(item, depth + 1, counter) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_plain(item, depth + 1, counter) for item in value]
    if hasattr(value, "isoformat"):
        return value.isoformat() if value == value else None  # pandas.NaT is not equal to itself
    if type(value).__module__ == "numpy":
        return make_plain(value.tolist(), depth + 1, counter)
    raise NotJson


def make_text_of_rest(value):
    try:
        return make_plain(value)
    except NotJson:
        return str(value)


def encode_json(value):
    try:
        return json.dumps(make_plain(value))
    except (NotJson, ValueError):
        return "null"


# ---- one value ----


def encode_binary(value):
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) else value


def add_mime(fields, mime, value):
    """Adds one representation under the name that results have for it; others go to "extra"."""
    if value is None:
        return
    field = FIELDS.get(mime)
    if field in ("png", "jpeg", "pdf") or isinstance(value, (bytes, bytearray)):
        value = encode_binary(value)
    if field:
        fields[field] = value
    else:
        fields.setdefault("extra", {})[mime] = value


def call_method(value, method):
    function = getattr(value, method, None)
    if function is None or isinstance(value, type) or not callable(function):
        return None
    try:
        return function()
    except NotImplementedError:
        return None
    except Exception as error:
        print("%s of %s: %s: %s" % (method, type(value).__name__, type(error).__name__, error), file=sys.stderr)
        return None


def add_bundle(fields, value):
    bundle = call_method(value, "_repr_mimebundle_")
    if isinstance(bundle, tuple) and bundle:
        bundle = bundle[0]
    if isinstance(bundle, dict):
        for mime, item in bundle.items():
            add_mime(fields, mime, item)


def add_methods(fields, value):
    for method, field in METHODS.items():
        item = call_method(value, method)
        if isinstance(item, tuple) and item:
            item = item[0]  # with metadata
        if item is not None:
            fields[field] = encode_binary(item)


def is_a(value, module, name):
    """Whether it is an instance of a class of a module that is loaded; imports nothing."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def make_text(value):
    text = repr(value)
    if len(text) > 79 and type(value) in (dict, list, tuple, set, frozenset) and len(text) < 1 << 20:
        import pprint

        text = pprint.pformat(value, sort_dicts=False, compact=True, width=79)
    return text


def make_frame_data(frame):
    return {
        str(name): [make_text_of_rest(item) for item in frame.iloc[:, i].tolist()]
        for i, name in enumerate(frame.columns)
        if i * len(frame) < JSON_ITEMS_MAX
    }


def make_fields(value):
    if is_a(value, "matplotlib.figure", "Figure"):
        return make_figure_fields(value)
    fields = {"text": make_text(value)}
    add_methods(fields, value)
    add_bundle(fields, value)
    if is_a(value, "pandas", "DataFrame"):
        fields["data"] = make_frame_data(value)
    if type(value) in (dict, list):
        try:
            fields["json"] = make_plain(value)
        except (NotJson, RecursionError):
            pass
    return fields


def emit_fields(fields, is_main):
    event = {"type": "result", "is_main_result": is_main}
    for name, value in fields.items():
        if value is not None:
            event[name] = (
                value if name in ("json", "data", "chart", "extra") or isinstance(value, str) else str(value)
            )
    emit(event)


def show(value, is_main=False):
    emit_fields(make_fields(value), is_main)


def display(
    *values,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
    **rest
):
    """As IPython.display.display()."""
    for value in values:
        if raw and isinstance(value, dict):
            publish_display_data(value)
        else:
            show(value)


def publish_display_data(data, metadata=None, **rest):
    fields = {}
    for mime, value in data.items():
        add_mime(fields, mime, value)
    emit_fields(fields, False)


# ---- figures ----


def make_figure_fields(figure):
    import io

    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight")
    fields = {"text": repr(figure), "png": encode_binary(picture.getvalue())}
    try:
        chart = load("charts")["make_chart"](figure)
        if chart:
            fields["chart"] = make_plain(chart)
    except Exception:  # a chart that is drawn in a way that we do not know is still a picture
        pass
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot and pyplot.fignum_exists(figure.number if hasattr(figure, "number") else -1):
        pyplot.close(figure)  # shown once
    return fields


def show_figures(*_arguments, **_options):
    """Shows the open figures: plt.show(), and the end of each run."""
    pyplot = sys.modules["matplotlib.pyplot"]
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if figure.axes or figure.texts or figure.lines or figure.patches or figure.images:
            show(figure)
        pyplot.close(figure)


def warm_figures():
    """Draws once: the first figure loads fonts, and builds their cache."""
    import io
    import matplotlib.pyplot as pyplot

    figure = pyplot.figure()
    figure.gca().plot([0, 1])
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    pyplot.close(figure)
    load("charts")


# ---- hooks: what is done after a module was imported ----


def hook_matplotlib(module):
    module.rcParams["backend"] = "agg"


def hook_pyplot(module):
    module.show = show_figures


def hook_figure(module):
    module.Figure.show = lambda self, warn=True: show(self)


def hook_pillow(module):
    save = module.Image.save

    def save_and_show(self, fp, format=None, **params):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if hasattr(fp, "__fspath__") or isinstance(fp, str):
            if not caller.startswith(("matplotlib", "PIL")):
                show(self)
        return save(self, fp, format, **params)

    module.Image.save = save_and_show
    module.Image.show = lambda self, title=None, **options: show(self)


def hook_ipython(module):
    module.display = display
    module.publish_display_data = publish_display_data


HOOKS = {
    "matplotlib": hook_matplotlib,
    "matplotlib.pyplot": hook_pyplot,
    "matplotlib.figure": hook_figure,
    "PIL.Image": hook_pillow,
    "IPython.core.display_functions": hook_ipython,
}


# ---- where IPython is not installed ----


def fill_stand_in(module):
    """Fills a module IPython, IPython.display or IPython.core.display."""
    module.display = display
    if module.__name__ == "IPython":
        module.version_info, module.__version__ = (8, 24, 0), "8.24.0"
        module.get_ipython = lambda: None
    elif module.__name__ != "IPython.core":
        add_stand_in_classes(module)


class DisplayObject:
    """One representation of something, of `data` or of a file."""

    mime, is_binary = "text/plain", False

    def __init__(self, data=None, url=None, filename=None, **options):
        import os

        if filename is None and isinstance(data, (str, os.PathLike)) and self.is_binary:
            filename, data = data, None
        if filename is not None:
            with open(filename, "rb" if self.is_binary else "r") as file:
                data = file.read()
        self.data, self.url, self.options = data, url, options

    def get_mime(self):
        return self.mime

    def _repr_mimebundle_(self, **_options):
        return {self.get_mime(): self.data}

    def __repr__(self):
        return "<IPython.core.display.%s object>" % type(self).__name__


def get_image_mime(self):
    if isinstance(self.data, (bytes, bytearray)) and self.data[:2] == b"\xff\xd8":
        return "image/jpeg"
    return "image/png"


def add_stand_in_classes(module):
    kinds = {
        "HTML": "text/html",
        "Markdown": "text/markdown",
        "SVG": "image/svg+xml",
        "Latex": "text/latex",
        "Math": "text/latex",
        "JSON": "application/json",
        "Javascript": "application/javascript",
        "Pretty": "text/plain",
    }
    module.DisplayObject = DisplayObject
    for name, mime in kinds.items():
        setattr(module, name, type(name, (DisplayObject,), {"mime": mime}))
    module.Image = type("Image", (DisplayObject,), {"is_binary": True, "get_mime": get_image_mime})
    module.publish_display_data = publish_display_data
    module.clear_output = lambda wait=False: None
    module.update_display = lambda value, *, display_id=None, **options: display(value)
    for mime in ("html", "png", "jpeg", "svg", "markdown", "latex", "json", "javascript"):
        setattr(module, "display_" + mime, lambda *values, **options: display(*values, **options))
