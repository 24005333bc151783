/* How the segments of a part fall into buckets: those of the reductions (reduce_program.c), seen in forward order.
 *
 * Model:      gradients come backwards. A bucket is closed by the segment that fills it; what is left over at the front
 *             of a chunk is filled up with segments of the chunk before it. So, forwards, a chunk has first `head`
 *             segments of a bucket that segments of chunks before it may share, then `whole` buckets of `per_bucket`
 *             segments, then `tail` segments of a bucket that goes on in chunks behind it.
 * Invariants: head + whole x per_bucket + tail = segments of the chunk, or all are 0 where it has no parameters. Buckets
 *             that chunks share are numbered; each is one run of segments.
 * Cost:       O(chunks).
 */
#pragma once

#include <glib.h>

/* A loop map's step has 8 bits. */
#define LS_MAX_SEGMENTS_PER_BUCKET 127

typedef struct {
  gint64 head, whole, per_bucket, tail;
  guint head_bucket, tail_bucket; /* numbers, where they have segments */
} LsBucketCut;

/* Of `n` chunks of so many segments with so many bytes of gradients each; cuts is filled. Returns the number of shared
 * buckets, counted from 0. */
guint ls_buckets_cut (const gint64 *segments, const gint64 *bytes, guint n, gint64 bucket,
                      LsBucketCut *cuts);
