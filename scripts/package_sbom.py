"""The bill of materials of a build, as SPDX 2.3 JSON: the program, and each library that was compiled into it.

package_sbom.py BUILD_FOLDER PROGRAM VERSION >FILE

Versions are those of the Debian package that owns the header which the compiler read, or the archive that it
linked; what no package owns is an error, never a guess. SOURCE_DATE_EPOCH is the document's time.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# Library, a header or archive by which it is found, licence as the project itself declares it.
HEADERS = (
    ("CLI11", "CLI/CLI.hpp", "BSD-3-Clause"),
    ("nlohmann_json", "nlohmann/json.hpp", "MIT"),
    ("spdlog", "spdlog/spdlog.h", "MIT"),
    ("fmt", "fmt/format.h", "MIT"),
    ("tl-expected", "tl/expected.hpp", "CC0-1.0"),
)
ARCHIVES = (
    ("libstdc++", "libstdc++.a", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    ("libgcc", "libgcc.a", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    ("libgcc_eh", "libgcc_eh.a", "GPL-3.0-or-later WITH GCC-exception-3.1"),
)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def cache_of(build):
    text = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([^/#\s][^:=]*):[A-Z]+=(.*)$", text, re.MULTILINE))


def read_headers(build):
    """Every file outside of the build that its compiler read, by ninja's own record."""
    return {line.strip() for line in run("ninja", "-C", str(build), "-t", "deps").splitlines()
            if line.startswith("    /")}


def owner(path):
    """(package, version, architecture) as dpkg has it, or None."""
    try:
        package = run("dpkg", "-S", os.path.realpath(path)).splitlines()[0].rsplit(": ", 1)[0].split(",")[0]
        return tuple(run("dpkg-query", "-W", "-f=${Package}\t${Version}\t${Architecture}", package).split("\t"))
    except (OSError, subprocess.CalledProcessError):
        return None


def distribution():
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    return re.search(r'^ID="?([\w.-]+)', text, re.MULTILINE)[1]


def library(name, path, licence):
    found = owner(path)
    if found is None:
        raise SystemExit(f"package_sbom: no package owns {path}: the version of {name} is not known")
    package, version, architecture = found
    return {
        "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "comment": f"compiled in, from the package {package}",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/{distribution()}/{package}@{version.replace('+', '%2B').replace(':', '%3A')}"
                                f"?arch={architecture}",
        }],
    }


def libraries(build):
    headers = read_headers(build)
    for name, suffix, licence in HEADERS:
        paths = sorted(path for path in headers if path.endswith("/" + suffix))
        if paths:
            yield library(name, paths[0], licence)
    compiler = cache_of(build)["CMAKE_CXX_COMPILER"]
    for name, archive, licence in ARCHIVES:
        yield library(name, run(compiler, f"-print-file-name={archive}").strip(), licence)


def document(build, program, version):
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    parts = list(libraries(build))
    main = {
        "SPDXID": "SPDXRef-cudart-doctor",
        "name": "cudart-doctor",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"cudart-doctor-{version}",
        "documentNamespace": f"urn:cudart-doctor:{version}:{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/package"]},
        "packages": [main, *parts],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": main["SPDXID"]},
            *({"spdxElementId": main["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": part["SPDXID"]}
              for part in parts),
        ],
    }


if __name__ == "__main__":
    folder, binary, release = sys.argv[1:]
    json.dump(document(pathlib.Path(folder), pathlib.Path(binary), release), sys.stdout, indent=2)
    print()
