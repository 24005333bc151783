# Shared by tools/quickstart, tools/test and tools/validate: finding what is missing on this
# machine, installing it, and building. Sourced from the root of the source tree.
# shellcheck shell=sh

say () { printf '%s: %s\n' "${0##*/}" "$*"; }
fail () { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

cores () { nproc 2>/dev/null || echo 1; }

have () { command -v "$1" >/dev/null 2>&1; }
have_library () { have pkg-config && pkg-config --exists "$1" 2>/dev/null; }

# A compiler counts when it links a program: Debian's gcc without libc6-dev does not.
have_compiler () {
  have cc || have gcc || return 1
  compiler=$(command -v cc || command -v gcc)
  probe=$(mktemp -d) || return 1
  echo 'int main (void) { return 0; }' >"$probe/probe.c"
  "$compiler" -include stdio.h -o "$probe/probe" "$probe/probe.c" 2>/dev/null
  works=$?
  rm -rf "$probe"
  return $works
}

# missing_for_build: Debian packages that would supply what the build lacks, on one line. What
# counts is what is there (a program, a pkg-config module), not which package brought it.
missing_for_build () {
  have_compiler || echo gcc libc6-dev
  have cmake || echo cmake
  have make || have ninja || echo make
  have pkg-config || echo pkg-config
  have_library "glib-2.0 >= 2.68" || echo libglib2.0-dev
  have_library "gsl >= 2.6" || echo libgsl-dev
  have_library "sqlite3 >= 3.34" || echo libsqlite3-dev
  have_library "libfyaml >= 0.7.12" || echo libfyaml-dev
  have_library "zlib >= 1.2.11" || echo zlib1g-dev
}

missing_for_tests () {
  missing_for_build
  have_library "check >= 0.15" || echo check
  have clang-format || echo clang-format
  have clang-tidy || echo clang-tidy
  for tool in cppcheck valgrind sqlite3 shellcheck; do
    have $tool || echo $tool
  done
}

# apt_get ARGUMENTS: apt-get as root, without questions, patient with others who hold its locks
# (DPkg::Lock::Timeout covers the lock of dpkg; those of the lists and the archives we retry).
apt_get () {
  if [ "$(id -u)" = 0 ]; then root=; else root="sudo -n"; fi
  log=$(mktemp) || return 1
  tries=0
  while :; do
    # shellcheck disable=SC2086 # $root is words
    { $root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=600 \
        -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" </dev/null 2>&1; echo $? >"$log.status"; } | tee "$log"
    status=$(cat "$log.status")
    tries=$((tries + 1))
    if [ "$status" != 0 ] && [ $tries -lt 60 ] && grep -qi 'could not get lock\|unable to lock' "$log"; then
      say "waiting for another apt to finish"
      sleep 5
    else
      rm -f "$log" "$log.status"
      return "$status"
    fi
  done
}

# install_packages PACKAGE...: nothing to do without arguments. The package lists are fetched only
# when they lack one of the packages, or when they turn out to be stale.
install_packages () {
  [ $# -gt 0 ] || return 0
  have apt-get || fail "missing: $* (Debian's names). Without apt, install them by hand, or set PKG_CONFIG_PATH to where they are"
  [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
    fail "missing: $*. Run me as root or with sudo that asks no password, or use tools/quickstart --no-root"
  say "installing $*"
  if apt-cache show "$@" >/dev/null 2>&1; then
    apt_get install -y --no-install-recommends "$@" && return 0
  fi
  apt_get update && apt_get install -y --no-install-recommends "$@" || fail "apt could not install: $*"
}

# configure TREE OPTION...: runs cmake where it has not run yet with these options.
configure () {
  tree=$1
  shift
  # These options as asked before: nothing to do. A cache made for another folder (a copied tree) or
  # with tools from elsewhere is of no use and goes.
  place="source=$(pwd) prefix=${LS_PREFIX:-none} "
  wanted="$place$*"
  if [ -f "$tree/CMakeCache.txt" ]; then
    if [ -f "$tree/configured" ] && [ "$(cat "$tree/configured")" = "$wanted" ]; then
      return 0
    fi
    if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd)" "$tree/CMakeCache.txt" ||
       { [ -f "$tree/configured" ] && ! grep -qsF "$place" "$tree/configured"; }; then
      rm -rf "$tree/CMakeCache.txt" "$tree/CMakeFiles"
    fi
  fi
  if have make; then generator="Unix Makefiles"; else generator=Ninja; fi
  if [ -f "$tree/CMakeCache.txt" ]; then
    cmake -S . -B "$tree" "$@" >"$tree/configure.log" 2>&1
  else
    mkdir -p "$tree"
    cmake -S . -B "$tree" -G "$generator" "$@" >"$tree/configure.log" 2>&1
  fi || { cat "$tree/configure.log" >&2; fail "cmake could not configure $tree"; }
  echo "$wanted" >"$tree/configured"
}

# build TREE [TARGET...]: quiet unless it fails.
build () {
  tree=$1
  shift
  cmake --build "$tree" -j "$(cores)" ${1:+--target "$@"} >"$tree/build.log" 2>&1 || {
    tail -n 60 "$tree/build.log" >&2
    fail "the build in $tree failed; the whole log is $tree/build.log"
  }
}
