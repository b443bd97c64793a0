# llama-cpp-python forces the common library on, unless a plain variable, not the option of that name, turns it off.
set(LLAMA_BUILD_COMMON OFF)
