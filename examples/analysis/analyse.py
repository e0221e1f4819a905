"""Monthly revenue from sales.csv: prints a table, writes summary.csv and the chart revenue.png."""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

source = sys.argv[1] if len(sys.argv) > 1 else "sales.csv"
sales = pd.read_csv(source, parse_dates=["date"])
sales["revenue"] = sales["units"] * sales["unit_price"]

by_region = sales.pivot_table(index="region", columns="product", values="revenue", aggfunc="sum").round(2)
print(by_region.to_string())
print("total revenue: %.2f" % sales["revenue"].sum())

monthly = sales.groupby([sales["date"].dt.strftime("%Y-%m"), "product"])["revenue"].sum().unstack().round(2)
monthly.to_csv("summary.csv", index_label="month")

axes = monthly.plot(kind="bar", stacked=True, figsize=(8, 4), title="Revenue by month")
axes.set_xlabel("")
plt.tight_layout()
plt.savefig("revenue.png", metadata={"Software": None})
print("wrote summary.csv and revenue.png")
