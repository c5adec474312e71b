#pragma once

extern const unsigned char icudt76_dat[64];
