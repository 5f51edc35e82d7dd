# SPDX-License-Identifier: Apache-2.0
"""The build backend: meson-python's, run in the folder above this one whichever of the two is installed.

The package has compiled code but none for Python itself, so one wheel does for every version of it; meson-python, which
takes all that lies beside modules for extensions, is told so afterwards.
"""

import contextlib
import os
import subprocess
import sys

import mesonpy


@contextlib.contextmanager
def _root():
    here = os.getcwd()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        yield
    finally:
        os.chdir(here)


def get_requires_for_build_wheel(config_settings=None):
    with _root():
        return [*mesonpy.get_requires_for_build_wheel(config_settings), "wheel >= 0.40"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = os.path.abspath(wheel_directory)
    with _root():
        name = mesonpy.build_wheel(folder, config_settings)
    command = [
        sys.executable,
        "-m",
        "wheel",
        "tags",
        "--remove",
        "--python-tag=py3",
        "--abi-tag=none",
        os.path.join(folder, name),
    ]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]


def get_requires_for_build_sdist(config_settings=None):
    with _root():
        return mesonpy.get_requires_for_build_sdist(config_settings)


def build_sdist(sdist_directory, config_settings=None):
    folder = os.path.abspath(sdist_directory)
    with _root():
        return mesonpy.build_sdist(folder, config_settings)
