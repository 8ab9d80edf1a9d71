/* Equal items: pairs the items of two lists that are deeply equal.

   Invariants: items are compared as tokens, whatever their hashes; each item has at most one
   partner; items that are left keep their order.

   Specified by `pair_equal` in align/equal_items.py. */

#include "kernel.h"

static void
free_side(Side *side)
{
    PyMem_Free(side->items);
    PyMem_Free(side->partners);
    PyMem_Free(side->rest);
}

void
free_alignment(Alignment *alignment)
{
    free_side(&alignment->expected);
    free_side(&alignment->candidate);
    PyMem_Free(alignment->similarities);
    PyMem_Free(alignment->first);
    PyMem_Free(alignment->next);
}

static int
make_side(Side *side, const Document *document, const Token *list)
{
    const Token *item = list + 1;
    side->document = document;
    side->number = list->is.count;
    side->items = PyMem_New(const Token *, side->number);
    side->partners = PyMem_New(uint32_t, side->number);
    side->rest = PyMem_New(uint32_t, side->number);
    if (side->items == NULL || side->partners == NULL || side->rest == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (uint32_t i = 0; i < side->number; i++) {
        side->items[i] = item;
        side->partners[i] = NOWHERE;
        item = &document->tokens[item->next];
    }
    return DONE;
}

int
make_alignment(Alignment *alignment, const Pair *pair, const Token *expected,
               const Token *candidate)
{
    uint32_t buckets = 1;
    if (make_side(&alignment->expected, pair->expected, expected) != DONE
        || make_side(&alignment->candidate, pair->candidate, candidate) != DONE) {
        return FAILED;
    }
    while (buckets < alignment->candidate.number) {
        buckets *= 2;
    }
    alignment->mask = buckets - 1;
    alignment->similarities = PyMem_New(double, alignment->expected.number);
    alignment->first = PyMem_New(uint32_t, buckets);
    alignment->next = PyMem_New(uint32_t, alignment->candidate.number);
    if (alignment->similarities == NULL || alignment->first == NULL || alignment->next == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    memset(alignment->first, 0xFF, buckets * sizeof *alignment->first);
    return DONE;
}

static int is_same(const Document *document, const Token *one, const Document *other_document,
                   const Token *other);

/* The same for two lists or two objects. */
static int
is_same_inside(const Document *document, const Token *one, const Document *other_document,
               const Token *other)
{
    const Token *inner = one + 1, *partner = other + 1;
    Members members;
    int same = 1;
    if (one->is.count != other->is.count) {
        return 0;
    }
    if (one->type == IS_LIST) {
        for (uint32_t i = 0; same > 0 && i < one->is.count; i++) {
            same = is_same(document, inner, other_document, partner);
            inner = &document->tokens[inner->next];
            partner = &other_document->tokens[partner->next];
        }
        return same;
    }
    if (open_members(&members, other_document, other) != DONE) {
        return -1;
    }
    for (uint32_t i = 0; same > 0 && i < one->is.count; i++) {
        partner = find_member(&members, BYTES(document), inner);
        same = partner == NULL ? 0 : is_same(document, inner, other_document, partner);
        inner = &document->tokens[inner->next];
    }
    close_members(&members);
    return same;
}

/* Whether two values have the same canonical text: 1, 0, or -1 for an error. There are no variant
   texts among them. */
static int
is_same(const Document *document, const Token *one, const Document *other_document,
        const Token *other)
{
    if (one->type != other->type || one->hash != other->hash) {
        return 0;
    }
    switch (one->type) {
    case IS_WHOLE:
        return one->is.whole == other->is.whole;
    case IS_REAL: /* 0.0 and -0.0 have different texts */
        return memcmp(&one->is.real, &other->is.real, sizeof one->is.real) == 0;
    case IS_TEXT:
        return one->length == other->length
               && memcmp(BYTES(document) + one->start, BYTES(other_document) + other->start,
                         one->length)
                      == 0;
    case IS_LIST:
    case IS_OBJECT:
        return is_same_inside(document, one, other_document, other);
    default:
        return 1;
    }
}

static void
find_rest(Side *side)
{
    side->rest_number = 0;
    for (uint32_t i = 0; i < side->number; i++) {
        if (side->partners[i] == NOWHERE) {
            side->rest[side->rest_number++] = i;
        }
    }
}

/* `pair_equal`: items with the same text, the first with the first. Lists with items that are
   only equal by value (1 and 1.0) are left to Python. */
int
pair_equal(Alignment *alignment)
{
    Side *expected = &alignment->expected, *candidate = &alignment->candidate;
    for (uint32_t other = candidate->number; other-- > 0;) {
        uint32_t *first = &alignment->first[candidate->items[other]->hash & alignment->mask];
        alignment->next[other] = *first;
        *first = other;
    }
    for (uint32_t place = 0; place < expected->number; place++) {
        const Token *item = expected->items[place];
        uint32_t *link = &alignment->first[item->hash & alignment->mask];
        while (*link != NOWHERE && candidate->items[*link]->hash != item->hash) {
            link = &alignment->next[*link];
        }
        if (*link != NOWHERE) {
            uint32_t other = *link;
            int same =
                is_same(expected->document, item, candidate->document, candidate->items[other]);
            if (same <= 0) {
                return same < 0 ? FAILED : TO_PYTHON;
            }
            *link = alignment->next[other];
            expected->partners[place] = other;
            candidate->partners[other] = place;
            alignment->similarities[place] = 1.0;
        }
    }
    find_rest(expected);
    find_rest(candidate);
    return DONE;
}
