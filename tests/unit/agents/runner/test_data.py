"""The Python runner with pandas, matplotlib and Pillow: data, pictures, charts in E2B's form."""

import base64
import importlib.util
import sys
import tempfile
import unittest

import driver

PLOT = "import matplotlib.pyplot as plt\nimport numpy as np\n"


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.runner = driver.Runner(cwd=cls.folder.name, warm=["matplotlib.pyplot"])

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()
        cls.folder.cleanup()

    def run_code(self, code, **options):
        outcome = self.runner.run(code, **options)
        self.assertIsNone(outcome.error, code)
        return outcome

    def get_chart(self, code):
        return self.run_code(PLOT + code + "\nplt.show()").results[0]["chart"]

    def test_frame(self):
        result = self.run_code(
            "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [0.5, float('nan')],"
            " 't': pd.to_datetime(['2024-01-02', None])})"
        ).results[0]
        self.assertIn("<table", result["html"])
        self.assertIn("2024-01-02", result["text"])
        self.assertEqual(
            result["data"], {"a": [1, 2], "b": ["x", None], "c": [0.5, None], "t": ["2024-01-02T00:00:00", None]}
        )

    def test_figures_are_shown_once(self):
        results = self.run_code(PLOT + "plt.plot([1, 2])\nplt.show()\n5").results
        self.assertEqual([result["is_main_result"] for result in results], [False, True])
        self.assertEqual(base64.b64decode(results[0]["png"])[:4], b"\x89PNG")
        self.assertEqual(results[0]["text"], "<Figure size 640x480 with 1 Axes>")
        self.assertEqual(len(self.run_code("plt.plot([1, 2]);").results), 1)  # at the end, without show()
        self.assertEqual(len(self.run_code("f, a = plt.subplots(); a.plot([1]); f").results), 1)
        self.assertEqual(len(self.run_code("plt.figure(); None").results), 0)
        self.assertEqual(len(self.run_code("plt.plot([1]); plt.close(); None").results), 0)
        outcome = self.runner.run("plt.plot([1, 2])\n1 / 0")
        self.assertEqual(outcome.error["name"], "ZeroDivisionError")
        self.assertEqual(len(self.run_code("plt.plot([1]); plt.savefig('f.png'); plt.show()").results), 1)
        self.assertEqual(len(self.run_code("plt.plot([1, 2])\nplt.show()", mode="fresh").results), 1)

    def test_line(self):
        chart = self.get_chart(
            "import datetime\nd = [datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(9)]\n"
            "plt.plot(d, np.sin(range(9)), label='sin(x)')\nplt.plot(d, range(9))\nplt.xlabel('Time (s)')\n"
            "plt.ylabel('A [Hz]')\nplt.title('T')"
        )
        self.assertEqual((chart["type"], chart["title"], chart["x_unit"], chart["y_unit"]), ("line", "T", "s", "Hz"))
        self.assertEqual((chart["x_scale"], chart["y_scale"]), ("datetime", "linear"))
        self.assertTrue(all(isinstance(tick, str) for tick in chart["x_ticks"] + chart["x_tick_labels"]))
        self.assertEqual([line["label"] for line in chart["elements"]], ["sin(x)", "Line 1"])
        self.assertEqual(chart["elements"][1]["points"][2], ["2023-09-03", 2])

    def test_scales(self):
        self.assertEqual(self.get_chart("plt.plot([1, 2], ['A', 'B'])")["y_scale"], "categorical")
        chart = self.get_chart("plt.plot([1, 2], [10, 100])\nplt.yscale('log')\nplt.grid(True)\nplt.legend()")
        self.assertEqual((chart["type"], chart["x_scale"], chart["y_scale"]), ("line", "linear", "log"))

    def test_scatter(self):
        chart = self.get_chart(
            "plt.scatter([1, 2], [3, 4], label='D')\nplt.scatter([5], [6], label='E')\nplt.grid(True)"
        )
        self.assertEqual(chart["type"], "scatter")
        self.assertEqual(
            chart["elements"], [{"label": "D", "points": [[1, 3], [2, 4]]}, {"label": "E", "points": [[5, 6]]}]
        )

    def test_bar(self):
        chart = self.get_chart(
            "plt.bar(['a', 'b'], [100, 200], label='Sold')\nplt.xlabel('x')\nplt.ylabel('y')\nplt.tight_layout()"
        )
        self.assertEqual(
            (chart["type"], chart["x_label"], chart["y_label"], chart["x_unit"]), ("bar", "x", "y", None)
        )
        self.assertEqual(
            chart["elements"],
            [{"label": "a", "group": "Sold", "value": 100}, {"label": "b", "group": "Sold", "value": 200}],
        )
        chart = self.get_chart("plt.barh(['a', 'b'], [1, 1])\nplt.xlabel('x')")
        self.assertEqual((chart["x_label"], chart["y_label"]), (None, "x"))
        self.assertEqual(chart["elements"][1], {"label": "b", "group": "Group 0", "value": 1})

    def test_pie(self):
        chart = self.get_chart(
            "plt.pie([90, 10], labels=['No', 'Blue'], autopct='%1.1f%%', startangle=90)\nplt.axis('equal')"
        )
        self.assertEqual(chart["type"], "pie")
        self.assertEqual(
            chart["elements"],
            [{"label": "No", "angle": 324, "radius": 1}, {"label": "Blue", "angle": 36, "radius": 1}],
        )

    def test_box_and_whisker(self):
        data = "d = {'A': [85, 90, 78, 92, 88], 'B': [95, 89, 76, 91, 84, 87], 'C': [75, 82, 88, 79, 86]}\n"
        for options, axis in (("", "x"), (", vert=False", "y")):
            chart = self.get_chart(
                data + "plt.boxplot(d.values(), patch_artist=True%s)\nplt.%sticks([1, 2, 3], d.keys())\n"
                "plt.xlabel('X')" % (options, axis)
            )
            self.assertEqual((chart["type"], chart[axis + "_label"] or chart["x_label"]), ("box_and_whisker", "X"))
            columns = {name: [element[name] for element in chart["elements"]] for name in chart["elements"][0]}
            self.assertEqual(
                columns,
                {
                    "label": ["A", "B", "C"],
                    "outliers": [[], [76], []],
                    "min": [78, 84, 75],
                    "first_quartile": [85, 84.75, 79],
                    "median": [88, 88, 82],
                    "third_quartile": [90, 90.5, 86],
                    "max": [92, 95, 88],
                },
            )

    def test_superchart_and_unknown(self):
        chart = self.get_chart(
            "f, a = plt.subplots(1, 2)\nf.suptitle('Two')\na[0].plot([1, 2])\na[0].grid(True)\n"
            "a[1].scatter([1], [2])\na[1].grid(True)"
        )
        self.assertEqual((chart["type"], chart["title"]), ("superchart", "Two"))
        self.assertEqual([part["type"] for part in chart["elements"]], ["line", "scatter"])
        chart = self.get_chart("f, a = plt.subplots()\na.add_artist(plt.Circle((0, 0), 1))\nplt.title('C')")
        self.assertEqual((chart["type"], chart["title"], chart["elements"]), ("unknown", "C", []))

    def test_pictures(self):
        for last in ("image", "image.show()", "image.save('a.png')"):
            outcome = self.run_code("from PIL import Image\nimage = Image.new('RGBA', (4, 4))\n" + last)
            self.assertEqual([bool(result.get("png")) for result in outcome.results], [True], last)


if __name__ == "__main__":
    for module in ("pandas", "matplotlib", "PIL"):
        if not importlib.util.find_spec(module):
            print("SKIP: no %s for %s" % (module, sys.executable))
            sys.exit(77)
    sys.exit(unittest.main())
