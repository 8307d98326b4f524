/* Random numbers that do not depend on the order of events.
 *
 * A draw is a hash of who draws it and for what: (seed, stream, rank, step,
 * operation). The hash gives a uniform number in (0, 1); GSL's inverse
 * distribution functions turn it into the law that is wanted. Asking twice
 * gives the same number; adding another use elsewhere shifts nothing; folded
 * and unfolded runs agree. The mixing function is SplitMix64's finaliser
 * (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators",
 * figure 14), applied to each word in turn.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* Who draws. `stream` separates uses ("loader decode time", "failure"). */
struct rng_key {
    uint64_t seed;
    uint64_t stream; /* rng_stream("name") */
    uint64_t rank;
    uint64_t step;
    uint64_t operation;
    uint64_t begun; /* rng_begin's: what it made of the first three; 0: they are put in each time */
};

/* The number of a stream's name; a pure hash of its letters. */
uint64_t rng_stream(const char *name);

/* Of a key that many draws have in common but for step and operation: the others are hashed once,
 * and must stay. What is drawn is the same. */
void rng_begin(struct rng_key *key);

uint64_t rng_bits(const struct rng_key *key);

/* Strictly between 0 and 1, 53 bits. */
double rng_uniform(const struct rng_key *key);

/* Integer in [0, bound); bound > 0. */
uint64_t rng_below(const struct rng_key *key, uint64_t bound);

double rng_exponential(const struct rng_key *key, double mean);
double rng_normal(const struct rng_key *key, double mean, double standard_deviation);
double rng_lognormal(const struct rng_key *key, double log_mean, double log_standard_deviation);

/* A 64-bit hash of bytes, for run keys and colours (not cryptographic). */
uint64_t rng_hash_bytes(const void *data, size_t size_bytes, uint64_t start);
/* The same of two words, for inner loops. */
uint64_t rng_hash_pair(uint64_t first, uint64_t second);
uint64_t rng_mix(uint64_t word);

#endif
