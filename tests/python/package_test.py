# SPDX-License-Identifier: Apache-2.0
"""The wheel: its name, what is in it and what that needs; the package against the header and its own stubs.

package_test.py FOLDER-OF-WHEELS
"""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import tilec
from support import ROOT, run_tests
from tilec import _library as c

WHEELS = pathlib.Path(sys.argv[1])
HERE = pathlib.Path(tilec.__file__).parent
HEADER = (ROOT / "runtime" / "tilec.h").read_text()


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_wheels():
    "both ways of installing make the same wheel, for every Python 3 of Linux on this machine"
    wheels = [next((WHEELS / way).glob("*.whl")) for way in ("root", "python")]
    version = ".".join(re.findall(r"#define TILEC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER))
    assert {wheel.name for wheel in wheels} == {f"tilec-{version}-py3-none-linux_{os.uname().machine}.whl"}, wheels
    names = [sorted(name for name in zipfile.ZipFile(wheel).namelist()) for wheel in wheels]
    assert names[0] == names[1]
    sources = {
        f"tilec/{path.name}"
        for path in (ROOT / "python" / "tilec").iterdir()
        if path.suffix in (".py", ".pyi", ".typed")
    }
    rest = {
        "tilec/py.typed",
        "tilec/libtilec.so",
        "tilec/tilec-worker",
        "tilec/licences/cjson.txt",
        "tilec/licences/tilec-and-openssl.txt",
    }
    packed = {name for name in names[0] if not name.startswith("tilec-")}
    assert packed == sources | rest, packed ^ (sources | rest)
    about = zipfile.ZipFile(wheels[0]).read(f"tilec-{version}.dist-info/METADATA").decode()
    assert "Requires-Python: >=3.9" in about and "Provides-Extra: nvrtc" in about
    assert not [line for line in about.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert tilec.__version__ == version


def test_installed():
    "what is tested is the wheel"
    assert "site-packages" in str(HERE) and not HERE.is_relative_to(ROOT / "python")


def test_needs():
    "library and worker need nothing but the C library, and show what the header declares"
    for name in ("libtilec.so", "tilec-worker"):
        lines = output("readelf", "-d", str(HERE / name)).splitlines()
        needed = {line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line}
        assert needed <= {
            "libc.so.6",
            "libm.so.6",
            "libdl.so.2",
            "libpthread.so.0",
            "ld-linux-x86-64.so.2",
            "ld-linux-aarch64.so.1",
        }, needed
    declared = set(re.findall(r"^[a-z][a-z_0-9 *]*?\**(tilec_[a-z_]+)\(", HEADER, re.MULTILINE))
    shown = {line.split()[-1] for line in output("nm", "-D", "--defined-only", str(HERE / "libtilec.so")).splitlines()}
    assert shown == declared, shown ^ declared
    assert os.access(HERE / "tilec-worker", os.X_OK)


def test_imports():
    "importing tilec imports no library of arrays, and starts nothing"
    text = "import sys, threading, tilec; assert not {'numpy', 'torch', 'cupy'} & set(sys.modules) and threading.active_count() == 1"
    output(sys.executable, "-c", text)


def test_oldest_python():
    "the package keeps to the syntax of Python 3.9"
    for path in HERE.glob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            ast.parse(path.read_text(), feature_version=(3, 9))


# ------------------------------------------------------------------------------------------------ the header

STRUCTURES = {
    "tilec_text": c.Text,
    "struct tilec_message": c.Message,
    "struct tilec_specialization": c.Specialization,
    "struct tilec_emit_options": c.EmitOptions,
    "struct tilec_cache_options": c.CacheOptions,
    "struct tilec_argument": c.Argument,
    "struct tilec_bind_options": c.BindOptions,
    "struct tilec_bound_counts": c.BoundCounts,
    "struct tilec_run_options": c.RunOptions,
    "struct tilec_tune_progress": c.TuneProgress,
    "struct tilec_tune_options": c.TuneOptions,
}


def test_structures():
    "the structures have the members, places and sizes that a C compiler gives those of the header"
    lines = ["#include <stdio.h>", '#include "runtime/tilec.h"', "int main(void) {"]
    for name, structure in STRUCTURES.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field, _ in structure._fields_]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sizes.c"
        path.write_text("\n".join([*lines, "return 0; }", ""]))
        output("cc", str(path), f"-I{ROOT}", "-o", f"{folder}/sizes")
        seen = dict(line.rsplit(" ", 1) for line in output(f"{folder}/sizes").splitlines())
    import ctypes

    for name, structure in STRUCTURES.items():
        assert int(seen[name]) == ctypes.sizeof(structure), name
        for field, _ in structure._fields_:
            assert int(seen[f"{name}.{field}"]) == getattr(structure, field).offset, f"{name}.{field}"


def test_functions():
    "the functions that are used are in the header, with as many parameters"
    for name, (_, arguments) in c.FUNCTIONS.items():
        match = re.search(rf"\b{name}\(([^;]*?)\);", HEADER, re.DOTALL)
        assert match, name
        parameters = [] if match.group(1) == "void" else match.group(1).split(",")
        assert len(parameters) == len(arguments), name


def test_results():
    "results and element types have the header's numbers"
    from tilec._arguments import TYPE_NUMBERS

    for name in ("OK", "WRONG", "USAGE", "MISSING", "NO_CONFIG", "LAUNCH", "INTERNAL", "INTERRUPTED"):
        assert re.search(rf"TILEC_{name} = {getattr(c, name)}\b", HEADER), name
    names = re.search(r"enum tilec_type \{(.*?)\}", HEADER, re.DOTALL).group(1).replace("TILEC_", "").lower().split(",")
    assert {None if n.strip() == "none" else n.strip(): i for i, n in enumerate(names)} == TYPE_NUMBERS


# ------------------------------------------------------------------------------------------------ the stubs


def stub_names(tree):
    """Names of classes and functions in a stub, those of a class behind its name, with the parameters of functions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, [a.arg for a in [*node.args.args, *node.args.kwonlyargs]]
        elif isinstance(node, ast.ClassDef):
            yield node.name, None
            for name, parameters in stub_names(node):
                yield f"{node.name}.{name}", parameters


def test_stubs():
    "the stubs have every public name, and the parameters that functions have"
    stubs = dict(stub_names(ast.parse((HERE / "__init__.pyi").read_text())))
    assert set(tilec.__all__) <= set(stubs), set(tilec.__all__) - set(stubs)
    for name, parameters in stubs.items():
        made = tilec
        for part in name.split("."):
            assert hasattr(made, part) or part.startswith("__"), name
            made = getattr(made, part, None)
        if parameters is not None and not name.split(".")[-1].startswith("__"):
            function = made.__func__ if inspect.ismethod(made) else made
            own = inspect.signature(function).parameters.values()
            assert [p.name for p in own if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)] == parameters, name
    for kind in (tilec.Kernel, tilec.Config, tilec.Program, tilec.Error):
        for name, member in vars(kind).items():
            if not name.startswith("_") and callable(member):
                assert f"{kind.__name__}.{name}" in stubs, f"{kind.__name__}.{name} has no stub"
                assert member.__doc__, f"{kind.__name__}.{name} has no docstring"


run_tests(globals())
