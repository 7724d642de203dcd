// The same program, compiled with -use_fast_math.

#include "option_paths.cu"
