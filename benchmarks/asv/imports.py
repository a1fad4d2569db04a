"""The time of an import, and that of scikit-learn's own import of the same modules."""

import subprocess
import sys


def _modules():
    """Public modules of scikit-learn and scipy that `import sklda` loads."""
    code = "import sys, sklda; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    public = (name for name in names if not any(part.startswith("_") for part in name.split(".")))
    return sorted(name for name in public if name.split(".")[0] in ("sklearn", "scipy") and name.count(".") < 2)


class Import:
    timeout = 300
    number = 1

    def timeraw_sklda(self):
        return "import sklda"

    def timeraw_same_modules_of_scikit_learn(self):
        return "import " + ", ".join(_modules())
