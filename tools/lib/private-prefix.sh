# Sourced by tools/quickstart --no-root: Debian packages unpacked under a folder of ours, for
# machines where one may not install. Nothing outside that folder is written.
# shellcheck shell=sh

# use_private_prefix FOLDER: lets compiler, pkg-config and cmake see what is unpacked there, before
# what the machine has.
use_private_prefix () {
  LS_PREFIX=$1
  triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")
  library_folders=$LS_PREFIX/usr/lib/$triplet:$LS_PREFIX/lib/$triplet
  export LS_PREFIX
  export PATH="$LS_PREFIX/usr/bin:$PATH"
  export PKG_CONFIG_PATH="$LS_PREFIX/usr/lib/$triplet/pkgconfig:$LS_PREFIX/usr/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  export C_INCLUDE_PATH="$LS_PREFIX/usr/include:$LS_PREFIX/usr/include/$triplet${C_INCLUDE_PATH:+:$C_INCLUDE_PATH}"
  export LIBRARY_PATH="$library_folders${LIBRARY_PATH:+:$LIBRARY_PATH}"
  export LD_LIBRARY_PATH="$library_folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# private_apt ARGUMENTS: apt-get with its state and cache under $LS_PREFIX/apt, which needs no rights.
private_apt () {
  LC_ALL=C apt-get -q -o Dir::State="$LS_PREFIX/apt/state" -o Dir::Cache="$LS_PREFIX/apt/cache" \
    -o Dir::State::status=/var/lib/dpkg/status -o Debug::NoLocking=1 -o APT::Sandbox::User= \
    -o Acquire::Retries=3 "$@" </dev/null
}

# unpack_packages PACKAGE...: downloads them and what they need beyond what is installed, and
# unpacks all of it under $LS_PREFIX.
unpack_packages () {
  { have apt-get && have dpkg-deb; } ||
    fail "missing: $* (Debian's names), and no apt-get to fetch them with. Set PKG_CONFIG_PATH to where they are"
  say "fetching $* into $LS_PREFIX"
  mkdir -p "$LS_PREFIX/apt/state/lists/partial" "$LS_PREFIX/apt/cache/archives/partial"
  log=$LS_PREFIX/apt/log
  private_apt update >"$log" 2>&1 &&
    private_apt install -y --no-install-recommends --download-only "$@" >>"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "could not fetch: $*"
  }
  for archive in "$LS_PREFIX"/apt/cache/archives/*.deb; do
    dpkg-deb -x "$archive" "$LS_PREFIX" || fail "could not unpack $archive"
    rm -f "$archive"
  done
  rm -rf "$LS_PREFIX/apt/state/lists"
  # What packages say about their own place is true at /usr only: module files of pkg-config, and the
  # linker scripts libc.so and libm.so, whose static halves lie here now.
  find "$LS_PREFIX/usr" -name '*.pc' -type f -exec sed -i "s|=/usr|=$LS_PREFIX/usr|" {} +
  for script in libc.so libm.so; do
    script=$LS_PREFIX/usr/lib/$triplet/$script
    if [ -f "$script" ]; then
      sed -i "s|/usr/lib/[^ ]*/\(lib[a-z_]*\.a\)|$LS_PREFIX/usr/lib/$triplet/\1|g" "$script"
    fi
  done
  # Alternatives such as cc are made by installation scripts, which we do not run.
  [ -e "$LS_PREFIX/usr/bin/cc" ] || [ ! -e "$LS_PREFIX/usr/bin/gcc" ] || ln -s gcc "$LS_PREFIX/usr/bin/cc"
}
