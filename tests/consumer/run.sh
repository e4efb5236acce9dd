#!/usr/bin/env bash
# Installs the build given as $1 into a fresh prefix and builds and runs the examples against it: through find_package, and through
# pkg-config. Run by CTest.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FFPA_JIT_CACHE_DIR=$work/cache

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build"
ctest --test-dir "$work/build" --output-on-failure --no-tests=error

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name ffpa_jit.pc)")
export PKG_CONFIG_PATH
# The prefix of this build is not the one installed to: pkg-config is told so.
flags=$(pkg-config --define-variable=prefix="$work/prefix" --cflags --libs ffpa_jit)
# shellcheck disable=SC2086  # the flags are several words
cc -std=c99 "$here/../../examples/c/host.c" $flags -lm -o "$work/host"
LD_LIBRARY_PATH=$(dirname "$(find "$work/prefix" -name libffpa_jit.so)") "$work/host"

# The README's C++ compiles as it stands there.
awk '/^```cpp$/ { on = 1; next } /^```$/ { if (on) exit } on' "$here/../../README.md" >"$work/readme.cpp"
grep -q 'runtime.forward' "$work/readme.cpp"
# shellcheck disable=SC2086
c++ -std=c++20 -Wall -Wextra -Werror -c "$work/readme.cpp" $flags -o "$work/readme.o"

# Nothing but the C ABI is exported.
library=$(find "$work/prefix" -name libffpa_jit.so)
if nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^ffpa_jit_'; then
  echo "libffpa_jit.so exports more than its C ABI" >&2
  exit 1
fi
# And nothing is linked but what the documentation names.
if readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|libfmt|libspdlog|libsqlite3|libzstd|ld-linux-x86-64)\.so'; then
  echo "libffpa_jit.so needs more than libc, libstdc++, fmt, spdlog, SQLite and zstd" >&2
  exit 1
fi
echo "consumer: ok"
