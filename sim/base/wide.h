/* Integers of 128 bits, for products of two of 64: ISO C has none, gcc and clang have. */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#endif
