#!/bin/bash
# python3 with pandas, numpy and matplotlib: tables and numbers; the chart is identical byte for byte.
. "$(dirname "$0")/../lib.sh"
"$PYTHON" -c 'import pandas, matplotlib' 2>/dev/null || skip "pandas and matplotlib are not installed"
prepare()
{
	cp "$SRC/examples/analysis/sales.csv" "$SRC/examples/analysis/analyse.py" "$1"
	cat >"$1/sums.py" <<'EOF'
import numpy as np, pandas as pd
rng = np.random.default_rng(5)
m = rng.normal(size=(200, 200))
print(np.linalg.norm(m @ m.T).round(6), np.sort(m.ravel())[:3])
np.save("m.npy", m)
big = np.memmap("map.bin", dtype="int32", mode="w+", shape=(100000,))
big[:] = np.arange(100000)
big.flush()
print(int(np.memmap("map.bin", dtype="int32", mode="r").sum()))
frame = pd.DataFrame({"k": rng.integers(0, 5, 1000), "v": rng.random(1000)})
print(frame.groupby("k").agg(["mean", "count"]).round(9).to_string())
frame.to_csv("frame.csv.gz", compression={"method": "gzip", "mtime": 1})
frame.to_json("frame.json", orient="records")
print(pd.read_csv("frame.csv.gz", index_col=0).equals(pd.read_csv("frame.csv.gz", index_col=0)))
frame.to_pickle("frame.pkl")
print(len(pd.read_pickle("frame.pkl")))
EOF
}
live_env+=(PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0)
same analysis "$PYTHON" analyse.py sales.csv
same numbers "$PYTHON" sums.py
