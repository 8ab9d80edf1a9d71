/* Equal items: pairs the items of two lists that are deeply equal.

   Invariants: items are compared as tokens, whatever their hashes; each item has at most one
   partner; items that are left keep their order.

   Specified by `pair_equal` in align/equal_items.py. */

#include "kernel.h"

/* Free the arrays of a side, which may be NULL. */
static void
free_side(Side *side)
{
    PyMem_Free(side->items);
    PyMem_Free(side->partners);
    PyMem_Free(side->rest);
}

/* Free an alignment, also one that is incomplete. */
void
free_alignment(Alignment *alignment)
{
    free_side(&alignment->expected);
    free_side(&alignment->candidate);
    PyMem_Free(alignment->similarities);
    PyMem_Free(alignment->first);
    PyMem_Free(alignment->next);
}

/* List the items of one side, without partners. */
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

/* List the items of two lists; the candidate items are not yet in their buckets. */
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

/* `is_same` for two lists or two objects, whose members may have another order. */
static int
is_same_inside(const Document *left_document, const Token *left, const Document *right_document,
               const Token *right)
{
    const Token *left_inner = left + 1, *right_inner = right + 1;
    Members members;
    int same = 1;
    if (left->is.count != right->is.count) {
        return 0;
    }
    if (left->type == IS_LIST) {
        for (uint32_t i = 0; same > 0 && i < left->is.count; i++) {
            same = is_same(left_document, left_inner, right_document, right_inner);
            left_inner = &left_document->tokens[left_inner->next];
            right_inner = &right_document->tokens[right_inner->next];
        }
        return same;
    }
    if (open_members(&members, right_document, right) != DONE) {
        return -1;
    }
    for (uint32_t i = 0; same > 0 && i < left->is.count; i++) {
        right_inner = find_member(&members, BYTES(left_document), left_inner);
        same = right_inner == NULL
                   ? 0
                   : is_same(left_document, left_inner, right_document, right_inner);
        left_inner = &left_document->tokens[left_inner->next];
    }
    close_members(&members);
    return same;
}

/* Whether two values have the same canonical text: 1, 0, or -1 for an error. There are no variant
   texts among them. */
static int
is_same(const Document *left_document, const Token *left, const Document *right_document,
        const Token *right)
{
    if (left->type != right->type || left->hash != right->hash) {
        return 0;
    }
    switch (left->type) {
    case IS_WHOLE:
        return left->is.whole == right->is.whole;
    case IS_REAL: /* 0.0 and -0.0 have different texts */
        return memcmp(&left->is.real, &right->is.real, sizeof left->is.real) == 0;
    case IS_TEXT:
        return left->length == right->length
               && memcmp(BYTES(left_document) + left->start, BYTES(right_document) + right->start,
                         left->length)
                      == 0;
    case IS_LIST:
    case IS_OBJECT:
        return is_same_inside(left_document, left, right_document, right);
    default:
        return 1;
    }
}

/* List the items without a partner, in order. */
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
    for (uint32_t partner = candidate->number; partner-- > 0;) {
        uint32_t *first = &alignment->first[candidate->items[partner]->hash & alignment->mask];
        alignment->next[partner] = *first;
        *first = partner;
    }
    for (uint32_t index = 0; index < expected->number; index++) {
        const Token *item = expected->items[index];
        uint32_t *link = &alignment->first[item->hash & alignment->mask];
        while (*link != NOWHERE && candidate->items[*link]->hash != item->hash) {
            link = &alignment->next[*link];
        }
        if (*link != NOWHERE) {
            uint32_t partner = *link;
            int same =
                is_same(expected->document, item, candidate->document, candidate->items[partner]);
            if (same <= 0) {
                return same < 0 ? FAILED : TO_PYTHON;
            }
            *link = alignment->next[partner];
            expected->partners[index] = partner;
            candidate->partners[partner] = index;
            alignment->similarities[index] = 1.0;
        }
    }
    find_rest(expected);
    find_rest(candidate);
    return DONE;
}
