"""What pyproject.toml cannot say: a program that is no script, and a wheel for every Python of one platform."""

import os
import pathlib
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
    from setuptools.command.build_scripts import build_scripts
except ImportError:  # before setuptools 70
    from distutils.command.build_scripts import build_scripts

    from wheel.bdist_wheel import bdist_wheel

PROGRAM = "bin/cudart-doctor"
PLATFORM = os.environ["CUDART_DOCTOR_PLATFORM"]


class ForOnePlatform(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        """Any Python 3: nothing is linked with it. The platform is that of the program."""
        return "py3", "none", PLATFORM


class Program(build_scripts):
    def run(self):
        """As it is: setuptools would read a script's first line as text."""
        self.mkpath(self.build_dir)
        for script in self.scripts:
            target = pathlib.Path(self.build_dir, pathlib.Path(script).name)
            shutil.copyfile(script, target)
            target.chmod(0o755)


class Module(build_py):
    def run(self):
        """With the version in it, so that no metadata has to be searched for it."""
        super().run()
        version = pathlib.Path(self.build_lib, "cudart_doctor", "_version.py")
        version.write_text(f'VERSION = "{self.distribution.get_version()}"\n', encoding="ascii")


def share():
    """Manual page, completions: as they lie below share/."""
    found = {}
    for path in sorted(pathlib.Path("share").rglob("*")):
        if path.is_file():
            found.setdefault(str(path.parent), []).append(str(path))
    return sorted(found.items())


setup(distclass=ForOnePlatform, scripts=[PROGRAM], data_files=share(),
      cmdclass={"bdist_wheel": Wheel, "build_scripts": Program, "build_py": Module})
