// Keeps the data of Foundation's ICU, 31 MB, out of the executable that this is linked into.
//
// The agent uses FoundationEssentials alone, which reads none of that data; GRDB imports the whole of Foundation, and a
// static link would bring it along. The linker takes the first definition of a symbol, which is this one. ICU refuses
// data without a header of its own, so that a function that needs some fails instead of reading what is not there.
// The release of ICU stands in the name: where the toolchain brings another one, the agent becomes bigger, and
// `Tests/binary` says so.
#include "empty.h"

const unsigned char icudt76_dat[64] __attribute__((aligned(16))) = {0};
