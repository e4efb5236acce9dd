# Sourced by tools/test and tools/demo: points the build's programs at an NVRTC fetched by tools/setup.
shopt -s nullglob
_nvrtc=(.venv/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[23])
if ((${#_nvrtc[@]})) && [[ -z ${FFPA_JIT_NVRTC:-} ]]; then
  export FFPA_JIT_NVRTC="$PWD/${_nvrtc[0]}"
fi
unset _nvrtc
shopt -u nullglob
