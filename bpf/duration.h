/* The bucket of a duration: base-2 exponential, 2^SCALE to the octave of a second, exact.
 *
 * The duration is shifted left until its top bit is set. Its bucket is then the old place of that
 * bit, times 2^SCALE, plus how many of the bounds 10^9 * 2^(k / 2^SCALE) ns, shifted the same way,
 * it exceeds. No multiplication, so nothing overflows and nothing is cut off. The bounds are
 * -D BOUND_k (floor of the shifted value); exporter/model/histogram.py has the same in Python. */
#ifndef PROCTREE_DURATION_H
#define PROCTREE_DURATION_H

#define BUCKETS (64 << SCALE)

static __always_inline u32 bucket_of(u64 ns)
{
	u64 m = ns | !ns;
	u32 top = 63;

	if (!(m >> 32)) { m <<= 32; top -= 32; }
	if (!(m >> 48)) { m <<= 16; top -= 16; }
	if (!(m >> 56)) { m <<= 8; top -= 8; }
	if (!(m >> 60)) { m <<= 4; top -= 4; }
	if (!(m >> 62)) { m <<= 2; top -= 2; }
	if (!(m >> 63)) { m <<= 1; top -= 1; }

	u32 bucket = top << SCALE;
	bucket += m > BOUND_0;
#if SCALE >= 1
	bucket += m > BOUND_1;
#endif
#if SCALE >= 2
	bucket += m > BOUND_2;
	bucket += m > BOUND_3;
#endif
#if SCALE >= 3
	bucket += m > BOUND_4;
	bucket += m > BOUND_5;
	bucket += m > BOUND_6;
	bucket += m > BOUND_7;
#endif
	return bucket;
}

#endif
