/* How far a fit may miss its own measurements and still be given out: the median of their relative
 * errors. Constants that miss by more explain something else than was measured (contradicting
 * rows, a wrong cluster or GPU, a guess at what ran), and would spoil predictions that were right.
 * It is twice what the catalogue's own constants reach: collectives 5 %, steps 5 %, products 1 to
 * 6 %, attention 1 to 5 %.
 */
#ifndef MEASURED_FIT_LIMIT_H
#define MEASURED_FIT_LIMIT_H

#define FIT_MEDIAN_MAX 0.10

#endif
