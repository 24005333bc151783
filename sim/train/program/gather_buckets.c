/* Buckets in forward order; see gather_buckets.h. */
#include "train/program/gather_buckets.h"

#include "base/assert.h"

/* What is left over of one chunk, on the way backwards. */
typedef struct {
  gint64 bytes; /* 0: nothing */
  guint bucket;
} Carry;

static void cut_chunk (LsBucketCut *cut, gint64 segments, gint64 bytes, gint64 bucket, Carry *carry,
                       guint *n_buckets) {
  if (carry->bytes > 0) {
    const gint64 needed = MAX ((bucket - carry->bytes + bytes - 1) / bytes, 0);

    cut->tail_bucket = carry->bucket;
    cut->tail = MIN (needed, segments);
    if (needed > segments) {
      carry->bytes += bytes * segments;
      return;
    }
    carry->bytes = 0;
  }
  cut->per_bucket = CLAMP ((bucket + bytes - 1) / bytes, 1, LS_MAX_SEGMENTS_PER_BUCKET);
  cut->whole = (segments - cut->tail) / cut->per_bucket;
  cut->head = (segments - cut->tail) % cut->per_bucket;
  if (cut->head == 0)
    return;
  *carry = (Carry){bytes * cut->head, (*n_buckets)++};
  cut->head_bucket = carry->bucket;
}

guint ls_buckets_cut (const gint64 *segments, const gint64 *bytes, guint n, gint64 bucket,
                      LsBucketCut *cuts) {
  Carry carry = {0, 0};
  guint n_buckets = 0;

  LS_REQUIRE (bucket > 0);
  for (guint i = n; i-- > 0;) {
    cuts[i] = (LsBucketCut){0};
    if (bytes[i] > 0)
      cut_chunk (&cuts[i], segments[i], bytes[i], bucket, &carry, &n_buckets);
  }
  return n_buckets;
}
