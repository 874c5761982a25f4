# Prints, for each line of stdin, which is a JSON string, the files that programs in Python would open for
# it, as a JSON list.
import argparse
import functools
import json
import os
import re
import sys
import unicodedata
import urllib.parse
import urllib.request

cwd = sys.argv[1]
parser = argparse.ArgumentParser(exit_on_error=False)
parser.add_argument("-f", "--file")


@functools.lru_cache(200_000)
def resolve(name):
    path = os.path.join(cwd, os.path.expanduser(name))
    return {os.path.realpath(path), os.path.realpath(os.path.normpath(path))}


def option(s):
    if not s.startswith(("-f", "--file=")):
        return None
    return parser.parse_args([s]).file


def url(s):
    return urllib.request.url2pathname(urllib.parse.urlparse(s).path) if s.lower().startswith("file:") else None


def looks_like_path(s):
    return re.search(r"^[\s\"']*[.~]|[/\\]", s)


def split(pattern):
    return lambda s: [part for i, part in enumerate(re.split(pattern, s)) if i == 0 or looks_like_path(part)]


trims = [lambda s: s, str.strip, str.lstrip, str.rstrip, lambda s: s.rstrip("\n"), lambda s: s.strip(" \t\r\n"), lambda s: s.removeprefix("\ufeff")]
reads = [
    lambda s: s,
    urllib.parse.unquote,
    urllib.parse.unquote_plus,
    lambda s: urllib.parse.unquote(s).strip(),
    lambda s: s.strip("\"'"),
    lambda s: unicodedata.normalize("NFC", s),
    lambda s: unicodedata.normalize("NFD", s),
    lambda s: unicodedata.normalize("NFKC", s).strip(),
    lambda s: s.replace("\\", "/"),
    url,
    lambda s: s.removeprefix("file://"),
    lambda s: s.removeprefix("@"),
    option,
    split("[,;|]"),
    lambda s: [part for i, part in enumerate(s.splitlines()) if i == 0 or looks_like_path(part)],
    lambda s: [part for i, part in enumerate(s.split(os.pathsep)) if i == 0 or re.match(r"/(?!/)|~/|\.\.?/", part)],
]

for line in sys.stdin:
    text = json.loads(line)
    names = set()
    for trim in trims:
        trimmed = trim(text)
        for read in reads:
            try:
                found = read(trimmed)
            except (Exception, SystemExit):
                continue
            for name in [found] if isinstance(found, str) else found or []:
                names.update((name, name.strip()))
    files = set()
    for name in names:
        if "\0" not in name:
            try:
                files |= resolve(name)
            except OSError:
                pass
    print(json.dumps(sorted(files)), flush=True)
