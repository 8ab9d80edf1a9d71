/* What the files of the kernel share: the compiled comparison of documents.

   lines of JSON -> tapes of tokens -> documents -> walk -> cells -> counts and rows

   file           what it does                                         specified by
   reading.c      strict JSON to a tape of tokens                      data/json_parser.py
   documents.c    a tape with its bytes, as a Python object            values/json_text.py
   lines.c        documents and ids of a block of lines                data/row_layout.py
   plan_nodes.c   what the plan says about an attribute, cached        plan/attribute_node.py
   walk.c         compares scalars, objects and lists                  plan/walk.py
   equal_items.c  pairs the equal items of two lists                   align/equal_items.py
   item_leaves.c  the leaves of the other items, as rules read them    align/leaves.py
   item_edges.c   the pairs of items that are similar enough           align/item_similarity.py
   item_pairs.c   selects among them                                   align/greedy.py
   counting.c     cells to counts                                      metrics/case_score.py
   rows.c         rows of results, written and read again              runs/case_rows.py
   module.c       the Python module, and the comparison of a pair

   token      a JSON value: its type, its bytes, and a hash
   tape       the tokens of a line in the order of the text
   node       what the plan says about an attribute
   cell       the outcome of one field as an integer, see model/outcome.py
   rest       the items of a list that are not equal to an item of the other list
   edge       two items of the rest that are similar enough to be paired
   leaf       a value inside an item that is neither empty nor a container
   graded     of leaves: they can be similar without being equal
   canonical  of documents: orjson would write the same bytes

   Every rule is defined by a Python function, which is named where the rule is implemented; the
   results are the same, byte for byte. What the kernel does not decide, a field, a list or a line,
   is left to that function.

   Functions return 1 if they are done, 0 to leave the work to Python, and -1 for an error. Bytes
   are never read at or beyond `end`. Offsets have 32 bits: longer lines are refused. */

#ifndef FIELDMARK_KERNEL_H
#define FIELDMARK_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

enum { DONE = 1, TO_PYTHON = 0, FAILED = -1 };

typedef unsigned char Byte;

/* As `max_align_t`, which some compilers lack. */
typedef union {
    long long whole;
    double real;
    void *pointer;
} Aligned;

/* ---- hashes with a seed: equal values have equal hashes, and the reverse is never assumed ----
 */

extern uint64_t hash_seed; /* a secret of this process, so that input cannot be made to collide */

/* The upper half of the product of two numbers. */
static inline uint64_t
high_product(uint64_t left, uint64_t right)
{
#if defined(__SIZEOF_INT128__) && !defined(FIELDMARK_PORTABLE)
    return (uint64_t)((__uint128_t)left * right >> 64);
#else
    uint64_t left_low = (uint32_t)left, left_high = left >> 32;
    uint64_t right_low = (uint32_t)right, right_high = right >> 32;
    uint64_t middle = left_high * right_low + (left_low * right_low >> 32);
    uint64_t cross = left_low * right_high + (uint32_t)middle;
    return left_high * right_high + (middle >> 32) + (cross >> 32);
#endif
}

/* The halves of the product of two numbers, combined by exclusive or. */
static inline uint64_t
folded_product(uint64_t left, uint64_t right)
{
    return (left * right) ^ high_product(left, right);
}

/* The number of zero bits below the lowest bit that is set; there is one. */
static inline int
trailing_zeros(uint64_t bits)
{
#if defined(__GNUC__) && !defined(FIELDMARK_PORTABLE)
    return __builtin_ctzll(bits);
#else
    int number = 0;
    for (int step = 32; step > 0; step /= 2) {
        if ((bits & (((uint64_t)1 << step) - 1)) == 0) {
            bits >>= step;
            number += step;
        }
    }
    return number;
#endif
}

/* The number of bits that are set. */
static inline int
bit_count(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (int)(bits * 0x0101010101010101u >> 56);
}

/* Mix two numbers: both halves of their product. */
static inline uint64_t
mixed(uint64_t left, uint64_t right)
{
    return folded_product(left ^ 0x9E3779B97F4A7C15u, right ^ 0xBF58476D1CE4E5B9u ^ hash_seed);
}

/* The hash of bytes, read eight at a time. */
static inline uint64_t
hash_bytes(const Byte *bytes, size_t length)
{
    uint64_t hash = hash_seed + length, word;
    uint32_t first, last;
    if (length >= sizeof word) {
        const Byte *end = bytes + length - sizeof word; /* the last word may overlap */
        for (; bytes < end; bytes += sizeof word) {
            memcpy(&word, bytes, sizeof word);
            hash = mixed(hash, word);
        }
        memcpy(&word, end, sizeof word);
        return mixed(hash, word);
    }
    if (length >= sizeof first) {
        memcpy(&first, bytes, sizeof first);
        memcpy(&last, bytes + length - sizeof last, sizeof last);
        return mixed(hash, (uint64_t)first << 32 | last);
    }
    if (length > 0) {
        first = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[length / 2] << 8 | bytes[length - 1];
        return mixed(hash, first);
    }
    return hash;
}

/* Whether two short sequences of bytes are the same; `memcmp` is faster for long ones. */
static inline int
are_same_bytes(const Byte *left, const Byte *right, size_t length)
{
    uint64_t left_word, right_word;
    if (length >= sizeof left_word) {
        size_t last = length - sizeof left_word;
        for (size_t i = 0; i < last; i += sizeof left_word) {
            memcpy(&left_word, left + i, sizeof left_word);
            memcpy(&right_word, right + i, sizeof left_word);
            if (left_word != right_word) {
                return 0;
            }
        }
        memcpy(&left_word, left + last, sizeof left_word);
        memcpy(&right_word, right + last, sizeof left_word);
        return left_word == right_word;
    }
    for (size_t i = 0; i < length; i++) {
        if (left[i] != right[i]) {
            return 0;
        }
    }
    return 1;
}

/* A hash that is the same for equal numbers, such as 1 and 1.0. */
static inline uint64_t
hash_real(double number)
{
    uint64_t bits;
    if (number >= -9223372036854775808.0 && number < 9223372036854775808.0
        && (double)(int64_t)number == number) {
        return mixed(1, (uint64_t)(int64_t)number);
    }
    memcpy(&bits, &number, sizeof bits);
    return mixed(2, bits);
}

/* ---- reading.c ---- */

enum { IS_NULL, IS_FALSE, IS_TRUE, IS_WHOLE, IS_REAL, IS_TEXT, IS_LIST, IS_OBJECT };

enum {
    FILLED = 1,  /* text with a character that is certainly not white space */
    VARIANT = 2, /* text that could be written with other bytes, such as "\/" */
    ESCAPED = 4, /* text with an escape */
    WIDE = 8,    /* text or a key beyond ASCII */
    NESTED = 16, /* a container with another one inside */
};

/* A JSON value. The tokens inside a container follow its own. */
typedef struct {
    uint64_t hash;     /* the same for equal values */
    uint64_t key_hash; /* of the key in its object */
    union {
        int64_t whole;
        double real;
        uint32_t count; /* of members or items */
    } is;
    uint32_t start, length;   /* the bytes of the value */
    uint32_t key, key_length; /* the bytes of the key, without quotes */
    uint32_t next;            /* the token after this value and everything inside it */
    uint8_t type, flags;
} Token;

#define EXACT_DIGITS 15 /* decimals with so many digits and their floats are one to one */
#define MAX_DEPTH 200   /* as in values/json_text.py, like the next */
#define PER_VALUE 256
#define LONGEST_LINE 0x7FFFFFFF

typedef struct {
    Py_ssize_t depth, key_characters, path_characters, line_bytes;
} Limits;

/* A key that was read before, which is probably followed by the same key as then. */
typedef struct {
    const Byte *text; /* in an earlier line of the block, with a quote behind it */
    uint64_t hash;
    uint32_t length;
    uint8_t flags;
    uint8_t next; /* the number of the key that followed it, or 0 */
} KnownKey;

/* Objects of a file mostly have the same keys in the same order, which are then recognized without
   reading and hashing them. */
#define MOST_KNOWN 63    /* keys; as many as there are bits for the keys of an object */
#define KNOWN_PLACES 128 /* a power of two */

/* Reads lines of a block, one after the other; its memory is used again for the next line. */
typedef struct {
    const Byte *begin; /* of the line */
    const Byte *at;    /* the next byte to read */
    const Byte *end;   /* behind the last byte of the line */
    Limits limits;
    KnownKey known[MOST_KNOWN + 1]; /* the first stands for the start of a line */
    uint8_t known_places[KNOWN_PLACES];
    uint8_t known_number, last_known;
    uint64_t paths;      /* characters of the paths of all values */
    uint64_t deviations; /* from what orjson would write */
    uint64_t long_reals; /* which may be such deviations */
    Token *tokens;
    size_t number, capacity;
    uint64_t *keys; /* scratch space: the hashes of the keys of one object */
    size_t key_capacity;
} Reader;

void free_reader(Reader *reader);
int skip_text(Reader *reader, const char *text, size_t length);
int read_root(Reader *reader);
int read_line(Reader *reader, const Byte *begin, const Byte *end);

/* ---- documents.c ---- */

/* The Python object `Document`: an object as JSON that has been checked, but not been parsed. */
typedef struct {
    PyObject_VAR_HEAD PyObject
        *raw;          /* the bytes of the document, so that it does not keep its block alive */
    PyObject *dropped; /* the key of the id, which is no field of the document, or NULL */
    uint32_t gap, gap_length; /* the bytes of that member with its comma */
    int is_canonical;         /* whether orjson would write the same bytes, or UNSURE */
    Token tokens[1];
} Document;

#define BYTES(document) ((const Byte *)PyBytes_AS_STRING((document)->raw))

extern PyTypeObject DocumentType;
extern PyObject *loads, *dumps; /* of orjson, after `import_orjson` */

int import_orjson(void);
Document *make_document(const Reader *reader, uint32_t root, uint32_t dropped, PyObject *key);
PyObject *value_of(const Document *document, const Token *token);
int is_canonical(Document *document);

/* ---- lines.c ---- */

int append_number(PyObject *numbers, Py_ssize_t number);
extern PyMethodDef line_functions[];

/* ---- plan_nodes.c ---- */

/* What `_described` in plan/kernel_walk.py says about an attribute, as flags. */
enum {
    WALKS = 1,           /* objects are walked */
    ALIGNS = 2,          /* lists are aligned */
    IS_LEAF = 4,         /* scalars are classified by presence, then by the comparator */
    TRUTH_ONLY = 8,      /* nothing is recorded without an expected value */
    SKIPPED = 16,        /* nothing is recorded */
    WHOLE_RULE = 32,     /* a rule applies to items as a whole */
    RULED = 64,          /* rules decide how similar items are */
    GREEDY = 128,        /* the most similar items are paired first */
    EXACT = 256,         /* the comparator is `Exact` */
    ORDERS_SERIES = 512, /* lists of numbers, dates or lists keep their order */
};

#define MOST_AGREED 256 /* texts that are kept by node; a power of two */

typedef struct Node Node;
struct Node {
    PyObject *attribute; /* the `AttributeNode` */
    PyObject *key;       /* bytes */
    uint64_t key_hash;
    Node **children;
    size_t number, capacity;
    uint32_t *table; /* the places of children by hash, from 1 */
    size_t table_size;
    Node *item;

    int flags;
    long long base;         /* -1 until the attribute is registered */
    PyObject *match;        /* the cell of a match */
    int text_matches;       /* text is a match of the same text */
    int number_matches;     /* a number is a match of an equal one of the same type */
    int iso_matches;        /* a date in ISO format is a match of the same text */
    PyObject *compare;      /* of the comparator, or None if `Walk.compare` has to be called */
    PyObject *leaf_rule;    /* `item_leaves` of its rule, None if it has none, False if it cannot */
    PyObject *rule_compare; /* `compare` of its rule, or None */
    PyObject *item_path;    /* of its items, or None */
    PyObject *item_node;    /* the `AttributeNode` of its items, or None */
    PyObject *fields;       /* the keys that items are compared on, as a tuple of bytes, or None */
    PyObject *select;       /* selects among contested pairs of items */
    PyObject *align_rest;   /* aligns items that are not equal */
    int is_series;          /* whether a list of it was a series */
    double min_weight;      /* of a pair of items; negative if the similarity is left to Python */
    double one_sided;       /* the similarity of a match field that only one of two items has;
                               negative if all leaves are compared */
    int keeps_text;         /* its rule is an edit distance of normalized text */
    double absolute;        /* the tolerance of its rule for numbers, negative if it has none */
    double relative;
    double at_zero;    /* the tolerance of an expected zero */
    PyObject **agreed; /* texts that match themselves, as bytes, in places by their hashes */
};

/* The Python object `Walker`: a plan, and what the walk calls in Python. */
typedef struct {
    PyObject_HEAD Node *root;
    PyObject *describe;      /* `_described` in plan/kernel_walk.py */
    PyObject *compare;       /* Walk.compare */
    PyObject *classify;      /* Walk.classify */
    PyObject *record;        /* Walk.record_unmatched */
    PyObject *record_item;   /* Walk.record_unmatched_item */
    PyObject *similarity;    /* text_similarity */
    PyObject *outcomes;      /* Outcomes */
    PyObject *matched;       /* MATCHED */
    PyObject *different;     /* DIFFERENT */
    PyObject *wrong_type;    /* WRONG_TYPE */
    PyObject *missing;       /* MISSING */
    PyObject *fold;          /* folded */
    PyObject *child, *item;  /* "child", "item" */
    PyObject *any_index;     /* -1 */
    Py_ssize_t slots[5];     /* where Outcomes have what `make_outcomes` sets */
    PyObject *extra;         /* ("extra",) */
    PyObject *extra_in_list; /* ("extra", "in_list") */
    int with_extras;
    Byte facts[18]; /* of each pair of presences, of a wrong value, and of a wrong type */
} Walker;

void free_node(Node *node);
int describe(const Walker *walker, Node *node);
Node *make_node(const Walker *walker, PyObject *attribute);
Node *child_of(const Walker *walker, Node *node, const Byte *bytes, const Token *token,
               size_t guess);
Node *item_of(const Walker *walker, Node *node);

/* ---- walk.c ---- */

/* Two documents that are compared, and the outcomes so far. */
typedef struct {
    const Walker *walker;
    const Document *expected, *candidate;
    PyObject *outcomes;
    PyObject *cells; /* of the outcomes, like the next two */
    PyObject *comparisons;
    PyObject *items;
} Pair;

/* Presence, or UNKNOWN for text that may be white space beyond ASCII. */
enum { ABSENT, NULL_VALUE, BLANK, VALUE, UNKNOWN };

#define LARGEST_EXACT ((int64_t)1 << 53) /* of integers that are floats; see align/leaves.py */

/* The members of an object, found by their keys. */
typedef struct {
    const Document *document;
    const Token *object;
    const Token *next; /* where the next key probably is */
    uint32_t position; /* its number */
    uint32_t *table;   /* places of tokens by hash of their keys, or NULL for few members */
    size_t size;
} Members;

int presence_of(const Token *token);
int is_digit(Byte letter);
int compare(const Pair *pair, Node *node, const Token *expected, const Token *candidate);
int open_members(Members *members, const Document *document, const Token *object);
void close_members(Members *members);
int is_same_key(const Byte *bytes, const Token *one, const Byte *other_bytes, const Token *other);
const Token *find_member(Members *members, const Byte *bytes, const Token *wanted);
int compare_objects(const Pair *pair, Node *node, const Token *expected, const Token *candidate);
int record_unmatched(const Pair *pair, Node *node, const Token *token, int extra, int in_list);

/* ---- equal_items.c ---- */

#define NOWHERE UINT32_MAX
#define MOST_ITEMS 1000000

/* The items of two lists, and the partner of each. `rest` are those without an equal. */
typedef struct {
    const Document *document;
    const Token **items;
    uint32_t *partners; /* or NOWHERE */
    uint32_t *rest;
    uint32_t number, rest_number;
} Side;

typedef struct {
    Side expected, candidate;
    double *similarities; /* of each expected item with its partner */
    uint32_t *first;      /* the first item of each bucket, or NOWHERE */
    uint32_t *next;       /* the item after each item, or NOWHERE */
    uint32_t mask;
} Alignment;

void free_alignment(Alignment *alignment);
int make_alignment(Alignment *alignment, const Pair *pair, const Token *expected,
                   const Token *candidate);
int pair_equal(Alignment *alignment);

/* ---- item_leaves.c ---- */

#define LONGEST_TEXT 10000 /* MAX_TEXT in align/alignment_options.py */
#define MOST_PAIRS 2000000 /* of items; more are left to Python */
#define MOST_CHARACTER_PAIRS                                                                       \
    5e10                     /* far below MAX_CHARACTER_PAIRS in align/alignment_options.py        \
                              */
#define MOST_CONTESTED 20000 /* edges; Python uses arrays for more */
#define MOST_WORK 2e11       /* MAX_CHARACTER_PAIRS there */
#define LEAF_COST 400.0      /* as in align/item_similarity.py, like the next two */
#define COLUMN_COST 500000.0
#define CALL_COST 50000.0
#define MOST_SIMILARITIES 1000000.0 /* _BLOCK there: similarities held in memory at once */
#define SLACK 0x1p-48               /* as in values/numbers.py, like the next two */
#define TINY 1e-300
#define LIMIT_MARGIN (1 + 0x1p-20) /* _MARGIN there */

#define MOST_WIDE 128
#define MOST_PATHS 64    /* distinct keys of the rest; more are left to Python */
#define WEIGHT_UNIT 1e12 /* as in align/item_similarity.py, like the next two */
#define MARGIN 1e-6
#define CLASSES 32                  /* of letters, which are those with the same last five bits */
#define TO_WHOLE 4503599627370496.0 /* 2**52: adding and subtracting it rounds to an integer */

/* A leaf of an item: folded text, a number, or a boolean. In text, the characters beyond ASCII are
   numbered from 128 on, because only equality and length matter. */
typedef struct {
    const Token *token;
    uint64_t hash; /* of the value */
    double number; /* or what a rule replaces it with */
    const Byte *text;
    uint32_t length;
    uint32_t path;        /* the number of its key among the keys of all leaves */
    uint32_t owner;       /* the place of its item among those of its side */
    uint32_t text_number; /* of its text among the different ones at its path on its side */
} Leaf;

/* An item of the rest, with its leaves. */
typedef struct {
    Leaf *leaves;
    uint32_t number;
    uint32_t *graded; /* the leaves that can be similar without being equal, as they are summed */
    uint32_t graded_number;
    uint64_t paths; /* a bit for each path that it has */
} Item;

/* A key of leaves, and the rule that applies to it. */
typedef struct {
    const Token *token;
    const Byte *bytes;
    int sides;        /* 1: the expected items have such leaves, 2: the candidate items */
    Node *rule;       /* or NULL */
    PyObject *leaves; /* what the rule replaces its leaves with, or NULL */
    int only_odd;     /* it replaces only those that are odd */
    Leaf **grouped;   /* numbers that it replaces */
    double *firsts;   /* with these */
    size_t grouped_number;
} Path;

/* The texts at one path, and what is known about their similarity. `own` is the text of the
   expected item at hand, or NULL, and `own_bounds` are its bounds. */
typedef struct {
    const Leaf *own;
    float *own_bounds;
    const Leaf **partners;    /* the texts of the candidate items, or NULL */
    Byte *letters;            /* how often they have letters of each class, at most MOST_LETTERS
                                 times: a row for each class */
    float *shares;            /* of one letter in each of them */
    uint32_t number;          /* of the different ones among them */
    uint32_t expected_number; /* of the different texts of the expected items */
    float *missing;           /* the similarity of the candidate items that lack it, NULL if 0 */
    float *bounds;            /* upper bounds: a row for each different expected text, or one row */
    uint8_t *has_bounds;      /* by expected text; NULL if there is only one row */
    uint16_t *distances;      /* of different texts, plus 1; 0 if unknown; NULL if not kept */
    uint64_t characters;
} Column;

/* Memory that is freed with the search; a small one needs no more than `space`. */
typedef struct Block {
    struct Block *next;
    Aligned bytes[];
} Block;

/* Two items that may be paired; the weight is their similarity times WEIGHT_UNIT, an integer. */
typedef struct {
    double weight;
    uint32_t expected, candidate; /* numbers of the items among the rest of their sides */
} Edge;

#define WORD 64
#define MOST_PATTERNS 8
#ifdef __SANITIZE_ADDRESS__ /* finds accesses beyond the end of an array, if it is alone */
#define UNUSABLE_SPACE (SPACE / sizeof(Aligned))
#else
#define UNUSABLE_SPACE 0
#endif
#define SPACE 12288           /* bytes */
#define MOST_BOUNDS (1 << 20) /* pairs of texts whose similarities are kept */

/* The places of each letter in the text of a leaf, for its edit distances to many others. The last
   letter is in the highest bit. */
typedef struct {
    const Leaf *leaf; /* or NULL */
    uint64_t places[256];
} Pattern;

/* The search for pairs of similar items among the rest of two lists. */
typedef struct {
    const Pair *pair;
    Node *node, *item_node; /* of the list, and of its items or NULL */
    Alignment *alignment;
    Item *items; /* expected, then candidate */
    size_t number;
    Leaf *leaves;
    uint32_t *graded;
    Byte *characters;
    Block *blocks;
    size_t space_used;
    Py_UCS4 wide[MOST_WIDE]; /* the characters beyond ASCII, by their numbers */
    size_t wide_number;
    double character_pairs;
    Path paths[MOST_PATHS];
    size_t path_number;
    int by_rules;    /* leaves are compared by their rules (`RuledLeaf`) */
    Column *columns; /* by path; without texts where one side has none */
    uint32_t *order; /* the paths of texts, those with short ones first */
    uint32_t order_number;
    const Leaf **first; /* the first candidate leaf of each bucket that is no text, or NULL */
    const Leaf **next;  /* the one after each leaf */
    size_t mask;
    int is_indexed;      /* whether there is any such leaf */
    Byte *common;        /* the number of letters that a text has in common with others */
    float *upper_bounds; /* upper bounds of the expected item at hand with each candidate item */
    float *settled;      /* the part of them that is exact */
    uint32_t smallest;   /* the least number of leaves of a candidate item */
    uint64_t everywhere; /* a bit for each path that all candidate items have */
    float missing;       /* a bound of the similarity of a leaf that a candidate item lacks: such
                            match fields do not decide whether items are similar enough */
    float *equal;        /* the number of leaves that are equal and not graded */
    Byte *is_near;       /* whether a candidate item may be similar enough, then seven zeros */
    uint32_t *near;      /* those that may be */
    uint32_t near_number;
    Pattern *patterns;
    Edge *edges;
    size_t edge_number, edge_capacity;
    Aligned space[SPACE / sizeof(Aligned)];
} Search;

#define TAKE(search, type, number) ((type *)take(search, number, sizeof(type)))

void *take(Search *search, size_t number, size_t size);
void free_search(Search *search);
int make_search(Search *search);
int read_leaves(Search *search);
PyObject *leaf_value(const Search *search, const Leaf *leaf);
int is_within_tolerance(const Search *search, const Leaf *expected, const Leaf *candidate);
int check_rules(Search *search);
int drop_unshared(Search *search);
int is_graded(const Search *search, const Leaf *leaf);
int list_graded(Search *search);
int starts_as_iso_date(const Byte *text, uint32_t length);
int is_iso_date(const Leaf *leaf);

/* ---- item_edges.c ---- */

int by_number(const void *one, const void *other);
int find_edges(Search *search);

/* ---- item_pairs.c ---- */

int align_similar(const Pair *pair, Node *node, Node *item_node, Alignment *alignment);
int align_by_python(const Pair *pair, const Node *node, Alignment *alignment, const Token *list);

/* ---- counting.c ---- */

#define CELL_BITS 7 /* as in model/outcome.py, like the next two */

#define LANES 20 /* as in metrics/case_score.py, like the next */
#define SMALL_CASE 64

extern PyMethodDef counting_functions[];

/* ---- rows.c ---- */

#define SHORT_DECIMALS 12 /* the similarities of items are multiples of 1 / WEIGHT_UNIT */

/* The fields of `Comparison`. */
enum { SCORE = 1, SIMILARITY, REASON, COERCED = 6, AMBIGUOUS, APPROXIMATE, NOTE, COMPARISON_SIZE };

extern PyMethodDef row_functions[];

#endif
