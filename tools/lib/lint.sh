# Shared by tools/lint/*: every check runs from the root of the source tree, prints what is wrong as
# FILE:LINE: MESSAGE, and exits 0 (clean), 1 (faults found) or 77 (its tool is not installed).
# shellcheck shell=sh
cd "$(dirname "$0")/../.." || exit 1
LC_ALL=C
export LC_ALL

# need TOOL: without it the check is skipped; CTest reports that by name.
need () {
  command -v "$1" >/dev/null 2>&1 || { echo "skipped: $1 is not installed"; exit 77; }
}

# c_files [FOLDER...]: our C files and headers, one a line, in a fixed order.
c_files () {
  for folder in "${@:-sim}"; do
    if [ -d "$folder" ]; then
      find "$folder" -name '*.[ch]' -type f
    fi
  done | sort
}
