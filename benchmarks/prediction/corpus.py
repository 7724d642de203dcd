"""The compiled corpus, and what `fathom predict` is to be told of a row of the tables in data/."""

import contextlib
import pathlib
import shutil
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parents[1] / "tests/fixtures/h200-prediction/corpus.tar.gz"


@contextlib.contextmanager
def unpacked():
    """A folder with ptx/ and cubin/. Cubins do not name arguments: predict finds the names in the source beside them."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        with tarfile.open(CORPUS) as archive:
            archive.extractall(folder)
        for source in (HERE / "kernels").glob("*.cu"):
            shutil.copy(source, folder / "cubin")
        yield folder


def predict_command(fathom, folder, row):
    """For a row's launch on an H200, as JSON."""
    command = [fathom, "predict", folder / "cubin" / row["file"].replace(".cu", ".cubin"), "--kernel", row["kernel"],
               "--device", "H200", "--grid", row["grid"], "--block", row["block"], "--format", "json"]
    if row["shared"] != "0":
        command += ["--shared", row["shared"]]
    contents = dict(each.split("=") for each in row["contents"].split(";") if "=" in each)
    for argument in row["arguments"].split(";"):
        name = argument.split("=")[0]
        if argument:
            command += ["--arg", argument + (":" + contents[name] if name in contents else "")]
    for trips in row["trips"].split(";"):
        if "=" in trips:
            command += ["--trips", trips]
    for near in row["near"].split(";"):
        if "=" in near:
            command += ["--near", near]
    return command
