/* Each word of the key is added to the golden-ratio increment of SplitMix64
 * and put through its finaliser, so that a key of zeros is as good as any
 * other (the finaliser alone maps 0 to 0).
 */
#include "base/rng.h"

#include "base/check.h"
#include "base/wide.h"

#include <gsl/gsl_cdf.h>

#include <math.h>
#include <string.h>

/* 2^64 divided by the golden ratio, made odd: SplitMix64's increment. */
static const uint64_t GOLDEN_GAMMA = 0x9e3779b97f4a7c15u;

uint64_t rng_mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

static uint64_t absorb(uint64_t hash, uint64_t word)
{
    return rng_mix((hash ^ word) + GOLDEN_GAMMA);
}

uint64_t rng_hash_pair(uint64_t first, uint64_t second)
{
    return absorb(absorb(0, first), second);
}

/* Eight bytes, lowest first, so that the hash does not depend on the machine. Written out,
 * compilers make it one load. */
static uint64_t whole_word(const unsigned char *bytes)
{
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
           (uint64_t)bytes[3] << 24 | (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 |
           (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
}

/* As above, of fewer than eight bytes; the missing ones are 0. */
static uint64_t load_word(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

uint64_t rng_hash_bytes(const void *data, size_t size_bytes, uint64_t start)
{
    const unsigned char *bytes = data;
    uint64_t hash = start;
    size_t at = 0;
    for (; at + 8 <= size_bytes; at += 8) {
        hash = absorb(hash, whole_word(bytes + at));
    }
    if (at < size_bytes) {
        hash = absorb(hash, load_word(bytes + at, size_bytes - at));
    }
    return absorb(hash, size_bytes);
}

uint64_t rng_stream(const char *name)
{
    return rng_hash_bytes(name, strlen(name), 0);
}

static uint64_t begin(const struct rng_key *key)
{
    return absorb(absorb(absorb(0, key->seed), key->stream), key->rank);
}

void rng_begin(struct rng_key *key)
{
    key->begun = begin(key);
}

uint64_t rng_bits(const struct rng_key *key)
{
    const uint64_t hash = absorb(key->begun != 0 ? key->begun : begin(key), key->step);
    return absorb(hash, key->operation);
}

double rng_uniform(const struct rng_key *key)
{
    /* Odd multiples of 2^-53: exact in a double, and neither 0 nor 1. */
    return (double)((rng_bits(key) >> 11) | 1u) * 0x1p-53;
}

uint64_t rng_below(const struct rng_key *key, uint64_t bound)
{
    sim_assert(bound > 0);
    /* The high word of the product; its bias is at most bound / 2^64. */
    return (uint64_t)(((uint128)rng_bits(key) * bound) >> 64);
}

double rng_exponential(const struct rng_key *key, double mean)
{
    sim_assert(mean >= 0.0);
    return gsl_cdf_exponential_Pinv(rng_uniform(key), mean);
}

double rng_normal(const struct rng_key *key, double mean, double standard_deviation)
{
    sim_assert(standard_deviation >= 0.0);
    return mean + gsl_cdf_gaussian_Pinv(rng_uniform(key), standard_deviation);
}

double rng_lognormal(const struct rng_key *key, double log_mean, double log_standard_deviation)
{
    return exp(rng_normal(key, log_mean, log_standard_deviation));
}
