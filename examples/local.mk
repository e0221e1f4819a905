EXTRA_DIST += \
	examples/analysis/README.md \
	examples/analysis/analyse.py \
	examples/analysis/policy.json \
	examples/analysis/run.sh \
	examples/analysis/sales.csv
