"""Tells which modules can be imported: of the standard library, of the policy's set, and of neither."""
import importlib

for name in "json", "sqlite3", "numpy", "pip", "setuptools":
    try:
        importlib.import_module(name)
        print(f"{name}: here")
    except ModuleNotFoundError:
        print(f"{name}: not here")
