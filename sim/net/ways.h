/* What one move of a round table puts on which resource, as the topology routes it. */
#pragma once

#include "net/collective.h"
#include "net/group.h"
#include "net/rounds.h"

/* Adds `amount` bytes per byte of progress from one member to another (positions in the shape).
 * `memory`: bytes that each end reads or writes in its memory per byte moved; ways through switches
 * that reduce or copy count memory by themselves. Returns the slowest hop. */
LsHop ls_way_add (const LsGroupShape *shape, LsUsages *usages, LsWay way, guint from, guint to,
                  double amount, double memory);

/* Memory of ls_way_add() for neighbours: an operand is read once and a result written once, what is
 * passed on lies in caches. `sent`: bytes that a member sends per byte of N, mean over members. Of the
 * other ways: 1. */
double ls_way_memory (LsWay way, LsCollectiveOp op, double sent);
