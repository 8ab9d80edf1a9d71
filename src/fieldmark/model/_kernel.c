/* The compiled comparison of documents: lines of JSON -> tapes of tokens -> cells.

   Every rule is defined by a Python function, which is named where the rule is implemented; the
   results are the same, byte for byte. What this module does not decide, a field, a list or a
   line, is left to that function.

   1. Hashes       seeded, so that input cannot be crafted to collide
   2. Tapes        strict JSON; a line with anything unusual is refused
   3. Documents    a tape with its bytes, as a Python object
   4. Lines        the documents and ids of a block of lines
   5. Nodes        the plan: a cache of what `AttributeNode` says
   6. Fields       `Walk.compare` for scalars and objects
   7. Equal items  `pair_equal`
   8. Similarity   `all_leaves`, `drop_unshared` and `edges_of_few`
   9. Lists        `Walk._compare_lists`
   10. Counting    `count_cells` and `_sum_cells`
   11. Rows        `CaseEncoder` and `CaseDecoder` for common cases
   12. The module

   Functions return 1 if they are done, 0 to leave the work to Python, and -1 for an error. Bytes
   are never read at or beyond `end`. Offsets have 32 bits: longer lines are refused. */

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

/* ---- 1. Hashes ---- */

static uint64_t seed; /* a secret of this process */

/* The upper half of the product of two numbers. */
static inline uint64_t
high_product(uint64_t one, uint64_t other)
{
#if defined(__SIZEOF_INT128__) && !defined(FIELDMARK_PORTABLE)
    return (uint64_t)((__uint128_t)one * other >> 64);
#else
    uint64_t low = (uint32_t)one, high = one >> 32;
    uint64_t other_low = (uint32_t)other, other_high = other >> 32;
    uint64_t middle = high * other_low + (low * other_low >> 32);
    uint64_t cross = low * other_high + (uint32_t)middle;
    return high * other_high + (middle >> 32) + (cross >> 32);
#endif
}

/* The halves of the product of two numbers, combined by exclusive or. */
static inline uint64_t
folded_product(uint64_t one, uint64_t other)
{
    return (one * other) ^ high_product(one, other);
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
static uint64_t
mixed(uint64_t one, uint64_t other)
{
    return folded_product(one ^ 0x9E3779B97F4A7C15u, other ^ 0xBF58476D1CE4E5B9u ^ seed);
}

static uint64_t
hash_bytes(const Byte *bytes, size_t length)
{
    uint64_t hash = seed + length, word;
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

/* Whether bytes are the same, which are few. */
static int
are_same_bytes(const Byte *one, const Byte *other, size_t length)
{
    uint64_t word, other_word;
    if (length >= sizeof word) {
        size_t last = length - sizeof word;
        for (size_t i = 0; i < last; i += sizeof word) {
            memcpy(&word, one + i, sizeof word);
            memcpy(&other_word, other + i, sizeof word);
            if (word != other_word) {
                return 0;
            }
        }
        memcpy(&word, one + last, sizeof word);
        memcpy(&other_word, other + last, sizeof word);
        return word == other_word;
    }
    for (size_t i = 0; i < length; i++) {
        if (one[i] != other[i]) {
            return 0;
        }
    }
    return 1;
}

/* A hash that is the same for equal numbers, such as 1 and 1.0. */
static uint64_t
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

/* ---- 2. Tapes ---- */

enum { IS_NULL, IS_FALSE, IS_TRUE, IS_WHOLE, IS_REAL, IS_TEXT, IS_LIST, IS_OBJECT };

enum {
    FILLED = 1,  /* text with a character that is certainly not white space */
    VARIANT = 2, /* text that could be written with other bytes, such as "\/" */
    ESCAPED = 4, /* text with an escape */
    WIDE = 8,    /* text or a key beyond ASCII */
    NESTED = 16, /* a container with another one inside */
};
#define INHERITED (VARIANT | ESCAPED | WIDE)

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

#define MOST_WHOLE_DIGITS 18 /* of an integer that always fits into 64 bits */
#define MOST_DIGITS 40
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

#define MOST_KNOWN 63    /* keys; as many as there are bits for the keys of an object */
#define KNOWN_PLACES 128 /* a power of two */

typedef struct {
    const Byte *begin; /* of the line */
    const Byte *at;
    const Byte *end;
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

static int read_value(Reader *reader, Py_ssize_t depth, uint64_t path);

static void
free_reader(Reader *reader)
{
    PyMem_Free(reader->tokens);
    PyMem_Free(reader->keys);
}

/* Add an empty token; -1 for an error. */
static Py_ssize_t
add_token(Reader *reader, int type)
{
    Token *token;
    if (reader->number == reader->capacity) {
        size_t capacity = reader->capacity ? 2 * reader->capacity : 256;
        Token *tokens = reader->tokens;
        if (capacity > PY_SSIZE_T_MAX / sizeof *tokens
            || (tokens = PyMem_Realloc(tokens, capacity * sizeof *tokens)) == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        reader->tokens = tokens;
        reader->capacity = capacity;
    }
    token = &reader->tokens[reader->number];
    memset(token, 0, sizeof *token);
    token->type = (uint8_t)type;
    token->start = (uint32_t)(reader->at - reader->begin);
    return (Py_ssize_t)reader->number++;
}

/* Complete a token that ends before `at`. */
static void
end_token(Reader *reader, Token *token)
{
    token->length = (uint32_t)(reader->at - reader->begin) - token->start;
    token->next = (uint32_t)reader->number;
}

static void
skip_blanks(Reader *reader)
{
    while (reader->at < reader->end && *reader->at <= ' '
           && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r'
               || *reader->at == '\n')) {
        reader->at++;
        reader->deviations++;
    }
}

/* Skip blanks and then one character, if it is this one. */
static int
skip(Reader *reader, Byte character)
{
    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == character) {
        reader->at++;
        return 1;
    }
    return 0;
}

/* The number of bytes of a character beyond ASCII, or 0 if it is not valid UTF-8. */
static int
wide_length(const Byte *at, const Byte *end)
{
    Byte first = at[0];
    int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || end - at < length) {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F)
        || (first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F)) {
        return 0; /* too long a form, a surrogate, or beyond Unicode */
    }
    return length;
}

/* Whether a character beyond ASCII may be white space: U+0085, U+00A0, U+1680, U+2000 to U+205F or
   U+3000. */
static int
may_be_blank(const Byte *at)
{
    switch (at[0]) {
    case 0xC2:
        return 1;
    case 0xE1:
        return at[1] == 0x9A;
    case 0xE2:
        return at[1] == 0x80 || at[1] == 0x81;
    case 0xE3:
        return at[1] == 0x80;
    default:
        return 0;
    }
}

static int
is_hex(Byte letter)
{
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f')
           || (letter >= 'A' && letter <= 'F');
}

/* Read the four digits of an escape by number after "\\u". A surrogate must be the first of a
   pair; others are left to the exact parser. */
static int
read_code(Reader *reader)
{
    const Byte *at = reader->at;
    if (reader->end - at < 4 || !is_hex(at[0]) || !is_hex(at[1]) || !is_hex(at[2])
        || !is_hex(at[3])) {
        return TO_PYTHON;
    }
    reader->at += 4;
    if ((at[0] | 32) != 'd' || at[1] < '8') {
        return DONE;
    }
    if ((at[1] | 32) > 'b' || reader->end - at < 10 || at[4] != '\\' || at[5] != 'u'
        || (at[6] | 32) != 'd' || (at[7] | 32) < 'c' || (at[7] | 32) > 'f' || !is_hex(at[8])
        || !is_hex(at[9])) {
        return TO_PYTHON;
    }
    reader->at += 6;
    return DONE;
}

/* Read an escape, from its backslash on. */
static int
read_escape(Reader *reader, int *flags)
{
    const Byte *at = reader->at + 1;
    if (at >= reader->end) {
        return TO_PYTHON;
    }
    *flags |= ESCAPED;
    switch (*at) {
    case '"':
    case '\\':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        reader->at = at + 1;
        return DONE;
    case '/':
        reader->at = at + 1;
        break;
    case 'u':
        reader->at = at + 1;
        if (!read_code(reader)) {
            return TO_PYTHON;
        }
        break;
    default:
        return TO_PYTHON;
    }
    *flags |= VARIANT;
    reader->deviations++;
    return DONE;
}

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

/* A word whose lowest marked byte is the lowest byte of another word that is below a limit. */
static uint64_t
bytes_below(uint64_t word, Byte limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80u);
}

/* Skip letters, eight at a time, up to one that `read_text` looks at. */
static void
skip_letters(Reader *reader, int *flags)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const Byte *at = reader->at, *end = reader->end;
    uint64_t word, marked = 0, filled = 0;
    while (marked == 0 && end - at >= (Py_ssize_t)sizeof word) {
        int letters = sizeof word;
        memcpy(&word, at, sizeof word);
        marked = (word & EACH_BYTE(0x80u)) | bytes_below(word, ' ')
                 | bytes_below(word ^ EACH_BYTE('"'), 1) | bytes_below(word ^ EACH_BYTE('\\'), 1);
        word ^= EACH_BYTE(' ');
        if (marked != 0) {
            letters = trailing_zeros(marked) / 8;
            word &= ((uint64_t)1 << 8 * letters) - 1;
        }
        filled |= word;
        at += letters;
    }
    *flags |= filled != 0;
    reader->at = at;
#else
    (void)reader;
    (void)flags;
#endif
}

/* Read a string; `at` is its first quote, and then behind its last. */
static int
read_text(Reader *reader, int *flags)
{
    *flags = 0;
    reader->at++;
    skip_letters(reader, flags);
    while (reader->at < reader->end) {
        Byte here = *reader->at;
        if (here == '"') {
            reader->at++;
            return DONE;
        }
        if (here == '\\') {
            if (!read_escape(reader, flags)) {
                return TO_PYTHON;
            }
            skip_letters(reader, flags);
        } else if (here >= 0x80) {
            int length = wide_length(reader->at, reader->end);
            if (length == 0) {
                return TO_PYTHON;
            }
            *flags |= WIDE | (may_be_blank(reader->at) ? 0 : FILLED);
            reader->at += length;
            skip_letters(reader, flags);
        } else if (here < 0x20) {
            return TO_PYTHON;
        } else {
            *flags |= here != ' ';
            reader->at++;
        }
    }
    return TO_PYTHON;
}

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MOST_DECIMALS 22 /* whose power of ten is exact */

/* Convert the text of a float, rounded as by float(). */
static int
convert_real(const Byte *start, size_t length, double *number)
{
    char text[MOST_DIGITS + 16];
    if (length >= sizeof text) {
        return TO_PYTHON;
    }
    memcpy(text, start, length);
    text[length] = 0;
    *number = PyOS_string_to_double(text, NULL, NULL);
    return *number == -1.0 && PyErr_Occurred() ? FAILED : DONE;
}

/* Read digits into a number; return how many there are, those of the number in `significant`. */
static Py_ssize_t
read_digits(Reader *reader, uint64_t *number, Py_ssize_t *significant)
{
    const Byte *start = reader->at, *at = start, *end = reader->end;
    uint64_t total = *number;
    Py_ssize_t used = *significant;
    for (; at < end && (Byte)(*at - '0') < 10; at++) {
        if (used < MOST_WHOLE_DIGITS) {
            total = total * 10 + (Byte)(*at - '0');
        }
        used += total > 0;
    }
    *number = total;
    *significant = used;
    reader->at = at;
    return at - start;
}

/* Read the fraction and the exponent of a number; `digits` are those before the point. */
static int
read_real(Reader *reader, Token *token, uint64_t number, Py_ssize_t digits, Py_ssize_t significant)
{
    const Byte *start = reader->begin + token->start;
    Py_ssize_t decimals = 0;
    int has_exponent = 0, done = DONE;
    if (*reader->at == '.') {
        reader->at++;
        decimals = read_digits(reader, &number, &significant);
        if (decimals == 0) {
            return TO_PYTHON;
        }
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        uint64_t exponent = 0;
        Py_ssize_t written = 0;
        has_exponent = 1;
        reader->at++;
        if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-')) {
            reader->at++;
        }
        written = read_digits(reader, &exponent, &(Py_ssize_t){0});
        if (written == 0 || written > 2) {
            return TO_PYTHON; /* it may be infinite */
        }
    }
    if (digits + decimals > MOST_DIGITS) {
        return TO_PYTHON;
    }
    token->type = IS_REAL;
    if (!has_exponent && significant <= EXACT_DIGITS && decimals <= MOST_DECIMALS
        && FLT_EVAL_METHOD == 0) {
        /* Both numbers are exact, so the quotient is rounded correctly. */
        token->is.real = (double)number / POWERS[decimals];
        token->is.real = *start == '-' ? -token->is.real : token->is.real;
    } else {
        done = convert_real(start, (size_t)(reader->at - start), &token->is.real);
    }
    /* The shortest text of a float is the only one with at most 15 digits, without an exponent
       from 0.0001 on, and with at least one decimal. */
    if (has_exponent || digits > EXACT_DIGITS || (reader->at[-1] == '0' && decimals > 1)
        || (token->is.real != 0.0 && fabs(token->is.real) < 0.001)) {
        reader->deviations++;
    } else if (significant > EXACT_DIGITS) {
        reader->long_reals++;
    }
    token->hash = hash_real(token->is.real);
    return done;
}

static int
read_number(Reader *reader)
{
    Py_ssize_t place = add_token(reader, IS_WHOLE), digits, significant = 0;
    uint64_t number = 0;
    Token *token;
    int negative, done = DONE;
    if (place < 0) {
        return FAILED;
    }
    token = &reader->tokens[place];
    negative = *reader->at == '-';
    reader->at += negative;
    digits = read_digits(reader, &number, &significant);
    if (digits == 0 || digits > MOST_WHOLE_DIGITS || (digits > 1 && reader->at[-digits] == '0')) {
        return TO_PYTHON;
    }
    if (reader->at < reader->end
        && (*reader->at == '.' || *reader->at == 'e' || *reader->at == 'E')) {
        done = read_real(reader, token, number, digits, significant);
    } else if (negative && number == 0) {
        return TO_PYTHON;
    } else {
        token->is.whole = negative ? -(int64_t)number : (int64_t)number;
        token->hash = mixed(1, (uint64_t)token->is.whole);
    }
    end_token(reader, token);
    return done;
}

/* Skip a text; 0 if the line continues with another one. */
static int
skip_text(Reader *reader, const char *text, size_t length)
{
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, text, length) != 0) {
        return 0;
    }
    reader->at += length;
    return 1;
}

static int
read_word(Reader *reader, int type, const char *word)
{
    Py_ssize_t place = add_token(reader, type);
    if (place < 0) {
        return FAILED;
    }
    if (!skip_text(reader, word, strlen(word))) {
        return TO_PYTHON;
    }
    reader->tokens[place].hash = mixed(3, (uint64_t)type);
    end_token(reader, &reader->tokens[place]);
    return DONE;
}

static int
read_string(Reader *reader)
{
    Py_ssize_t place = add_token(reader, IS_TEXT);
    Token *token;
    int flags;
    if (place < 0) {
        return FAILED;
    }
    if (!read_text(reader, &flags)) {
        return TO_PYTHON;
    }
    token = &reader->tokens[place];
    token->flags = (uint8_t)flags;
    end_token(reader, token);
    token->hash = hash_bytes(reader->begin + token->start + 1, token->length - 2);
    return DONE;
}

/* Pass flags on to a container from a value inside it. */
static void
inherit(Token *outer, const Token *inner)
{
    outer->flags |= inner->flags & INHERITED;
    outer->flags |= inner->type >= IS_LIST ? NESTED : 0;
}

static int
read_list(Reader *reader, Py_ssize_t depth, uint64_t path)
{
    Py_ssize_t place = add_token(reader, IS_LIST);
    uint64_t hash = mixed(4, 4), digits = 1, more_digits = 10;
    uint32_t count = 0;
    if (place < 0) {
        return FAILED;
    }
    reader->at++;
    if (!skip(reader, ']')) {
        do {
            Py_ssize_t inner = (Py_ssize_t)reader->number;
            int done;
            if (count == more_digits) {
                digits++;
                more_digits *= 10;
            }
            done = read_value(reader, depth, path + digits + 2);
            if (done != DONE) {
                return done;
            }
            hash = mixed(hash, reader->tokens[inner].hash);
            inherit(&reader->tokens[place], &reader->tokens[inner]);
            count++;
        } while (skip(reader, ','));
        if (!skip(reader, ']')) {
            return TO_PYTHON;
        }
    }
    reader->tokens[place].is.count = count;
    reader->tokens[place].hash = hash;
    end_token(reader, &reader->tokens[place]);
    return DONE;
}

#define FEW_KEYS 8

/* Whether the keys of an object are unique; those with the same hash are left to Python. */
static int
check_keys(Reader *reader, Py_ssize_t place, uint32_t count)
{
    size_t size = 1;
    uint32_t member = (uint32_t)place + 1;
    if (count <= FEW_KEYS) {
        uint64_t seen[FEW_KEYS];
        for (uint32_t i = 0; i < count; i++, member = reader->tokens[member].next) {
            seen[i] = reader->tokens[member].key_hash;
            for (uint32_t j = 0; j < i; j++) {
                if (seen[i] == seen[j]) {
                    return TO_PYTHON;
                }
            }
        }
        return DONE;
    }
    while (size < 2 * (size_t)count) {
        size *= 2;
    }
    if (size > reader->key_capacity) {
        uint64_t *keys = PyMem_Realloc(reader->keys, size * sizeof *keys);
        if (keys == NULL) {
            PyErr_NoMemory();
            return FAILED;
        }
        reader->keys = keys;
        reader->key_capacity = size;
    }
    memset(reader->keys, 0, size * sizeof *reader->keys);
    for (uint32_t i = 0; i < count; i++, member = reader->tokens[member].next) {
        uint64_t hash = reader->tokens[member].key_hash | 1; /* 0 is a free place */
        size_t at = (size_t)(hash >> 1) & (size - 1);
        while (reader->keys[at] != 0) {
            if (reader->keys[at] == hash) {
                return TO_PYTHON;
            }
            at = (at + 1) & (size - 1);
        }
        reader->keys[at] = hash;
    }
    return DONE;
}

/* The number of a known key, which is remembered if it is new; 0 if there are too many. */
static uint8_t
know_key(Reader *reader, const Byte *text, size_t length, uint64_t hash, int flags)
{
    size_t place = (size_t)hash & (KNOWN_PLACES - 1);
    uint8_t number = reader->known_places[place];
    while (number != 0) {
        const KnownKey *known = &reader->known[number];
        if (known->hash == hash && known->length == length
            && are_same_bytes(known->text, text, length)) {
            return number;
        }
        place = (place + 1) & (KNOWN_PLACES - 1);
        number = reader->known_places[place];
    }
    if (reader->known_number == MOST_KNOWN) {
        return 0;
    }
    number = ++reader->known_number;
    reader->known[number] = (KnownKey){text, hash, (uint32_t)length, (uint8_t)flags, 0};
    reader->known_places[place] = number;
    return number;
}

/* Read a key of an object and the colon after it into a token without a value; `number` is that of
   a known key, or 0. */
static int
read_key(Reader *reader, Token *token, uint8_t *number, int *is_wide)
{
    const KnownKey *known = &reader->known[ *number = reader->known[reader->last_known].next];
    const Byte *text;
    size_t length;
    int flags;
    skip_blanks(reader);
    text = reader->at + 1;
    if (*number > 0 && reader->end - reader->at > (Py_ssize_t)known->length + 1
        && *reader->at == '"' && are_same_bytes(text, known->text, known->length + 1)) {
        length = known->length;
        flags = known->flags;
        reader->at += length + 2;
        token->key_hash = known->hash;
    } else {
        if (reader->at >= reader->end || *reader->at != '"' || !read_text(reader, &flags)
            || (flags & ESCAPED)) {
            return TO_PYTHON;
        }
        length = (size_t)(reader->at - text) - 1;
        token->key_hash = hash_bytes(text, length);
        *number = know_key(reader, text, length, token->key_hash, flags);
        reader->known[reader->last_known].next = *number;
    }
    reader->last_known = *number;
    token->key = (uint32_t)(text - reader->begin);
    token->key_length = (uint32_t)length;
    *is_wide = flags & WIDE;
    return (Py_ssize_t)length <= reader->limits.key_characters && skip(reader, ':') ? DONE
                                                                                    : TO_PYTHON;
}

static int
read_object(Reader *reader, Py_ssize_t depth, uint64_t path)
{
    Py_ssize_t place = add_token(reader, IS_OBJECT);
    uint64_t sum = 0;  /* of the hashes of members, so that their order does not matter */
    uint64_t seen = 0; /* a bit for each known key */
    uint32_t count = 0;
    int all_known = 1;
    if (place < 0) {
        return FAILED;
    }
    reader->at++;
    if (!skip(reader, '}')) {
        do {
            size_t member = reader->number;
            Token key, *token;
            uint8_t number;
            int is_wide, done = read_key(reader, &key, &number, &is_wide);
            if (done != DONE || (number > 0 && (seen >> number & 1))) {
                return TO_PYTHON;
            }
            seen |= (uint64_t)1 << number;
            all_known &= number > 0;
            done = read_value(reader, depth, path + key.key_length + 1);
            if (done != DONE) {
                return done;
            }
            token = &reader->tokens[member];
            token->key = key.key;
            token->key_length = key.key_length;
            token->key_hash = key.key_hash;
            sum += mixed(key.key_hash, token->hash);
            inherit(&reader->tokens[place], token);
            reader->tokens[place].flags |= (uint8_t)is_wide;
            count++;
        } while (skip(reader, ','));
        if (!skip(reader, '}')) {
            return TO_PYTHON;
        }
    }
    reader->tokens[place].is.count = count;
    reader->tokens[place].hash = mixed(5, sum);
    end_token(reader, &reader->tokens[place]);
    return all_known ? DONE : check_keys(reader, place, count);
}

/* Read a value that is inside `depth` containers less than the limit. */
static int
read_value(Reader *reader, Py_ssize_t depth, uint64_t path)
{
    skip_blanks(reader);
    reader->paths += path;
    if (reader->at >= reader->end) {
        return TO_PYTHON;
    }
    switch (*reader->at) {
    case '"':
        return read_string(reader);
    case '{':
        return depth > 0 ? read_object(reader, depth - 1, path) : TO_PYTHON;
    case '[':
        return depth > 0 ? read_list(reader, depth - 1, path) : TO_PYTHON;
    case 'n':
        return read_word(reader, IS_NULL, "null");
    case 't':
        return read_word(reader, IS_TRUE, "true");
    case 'f':
        return read_word(reader, IS_FALSE, "false");
    default:
        return read_number(reader);
    }
}

/* Read a value as a new tape. */
static int
read_root(Reader *reader)
{
    reader->number = 0;
    reader->last_known = 0;
    reader->paths = reader->deviations = reader->long_reals = 0;
    return read_value(reader, reader->limits.depth, 0);
}

/* Read a whole line as one value (`parse_bytes`, `check_paths`). */
static int
read_line(Reader *reader, const Byte *begin, const Byte *end)
{
    int64_t excess;
    int done;
    reader->begin = reader->at = begin;
    reader->end = end;
    if (end - begin > reader->limits.line_bytes || end - begin > LONGEST_LINE) {
        return TO_PYTHON;
    }
    done = read_root(reader);
    if (done != DONE) {
        return done;
    }
    skip_blanks(reader);
    excess = (int64_t)reader->paths - PER_VALUE * (int64_t)reader->number;
    if (reader->at < reader->end || excess > reader->limits.path_characters) {
        return TO_PYTHON;
    }
    return DONE;
}

/* ---- 3. Documents ---- */

typedef struct {
    PyObject_VAR_HEAD PyObject
        *raw;          /* the bytes of the document, so that it does not keep its block alive */
    PyObject *dropped; /* the key of the id, which is no field of the document, or NULL */
    uint32_t gap, gap_length; /* the bytes of that member with its comma */
    int is_canonical;         /* whether orjson would write the same bytes, or UNSURE */
    Token tokens[1];
} Document;

#define UNSURE 2

static PyTypeObject DocumentType;
static PyObject *loads, *dumps; /* of orjson, when they are first needed */

static int
import_orjson(void)
{
    PyObject *orjson = PyImport_ImportModule("orjson");
    if (orjson != NULL) {
        Py_XSETREF(loads, PyObject_GetAttrString(orjson, "loads"));
        Py_XSETREF(dumps, PyObject_GetAttrString(orjson, "dumps"));
        Py_DECREF(orjson);
    }
    return loads != NULL && dumps != NULL;
}

#define BYTES(document) ((const Byte *)PyBytes_AS_STRING((document)->raw))

static void
document_dealloc(Document *document)
{
    Py_XDECREF(document->raw);
    Py_XDECREF(document->dropped);
    Py_TYPE(document)->tp_free((PyObject *)document);
}

/* Copy a value of the tape, and everything inside it but the member `dropped`, a scalar. */
static Document *
make_document(const Reader *reader, uint32_t root, uint32_t dropped, PyObject *key)
{
    const Token *value = &reader->tokens[root];
    uint32_t number = value->next - root - (dropped > 0), before;
    Document *document = PyObject_NewVar(Document, &DocumentType, (Py_ssize_t)number);
    if (document == NULL) {
        return NULL;
    }
    document->dropped = dropped > 0 ? Py_NewRef(key) : NULL;
    document->is_canonical = reader->deviations > 0 ? 0 : reader->long_reals > 0 ? UNSURE : 1;
    document->gap = document->gap_length = 0;
    if (dropped > 0) {
        const Token *member = &reader->tokens[dropped];
        int is_first = dropped == root + 1, is_only = value->is.count == 1;
        document->gap = member->key - 1 - !is_first - value->start;
        document->gap_length =
            member->start + member->length + (is_first && !is_only) - (member->key - 1 - !is_first);
    }
    document->raw = PyBytes_FromStringAndSize((const char *)reader->begin + value->start,
                                              (Py_ssize_t)value->length);
    if (document->raw == NULL) {
        Py_DECREF(document);
        return NULL;
    }
    before = dropped > 0 ? dropped - root : number;
    for (uint32_t i = 0; i < number; i++) {
        Token *token = &document->tokens[i];
        *token = value[i + (i >= before)];
        token->start -= value->start;
        token->key -= value->start;
        token->next -= root;
        token->next -= token->next > before;
    }
    document->tokens[0].key = 0;
    document->tokens[0].is.count -= dropped > 0;
    return document;
}

/* Parse JSON that has been checked. */
static PyObject *
parse(const char *start, Py_ssize_t length)
{
    PyObject *text, *value;
    if (loads == NULL && !import_orjson()) {
        return NULL;
    }
    text = PyBytes_FromStringAndSize(start, length);
    value = text == NULL ? NULL : PyObject_CallOneArg(loads, text);
    Py_XDECREF(text);
    return value;
}

/* A string, number or word of a document as a Python value, or a container. */
static PyObject *
value_of(const Document *document, const Token *token)
{
    const char *start = (const char *)BYTES(document) + token->start;
    switch (token->type) {
    case IS_NULL:
        return Py_NewRef(Py_None);
    case IS_TRUE:
        return Py_NewRef(Py_True);
    case IS_FALSE:
        return Py_NewRef(Py_False);
    case IS_WHOLE:
        return PyLong_FromLongLong(token->is.whole);
    case IS_REAL:
        return PyFloat_FromDouble(token->is.real);
    case IS_TEXT:
        if (!(token->flags & ESCAPED)) {
            return PyUnicode_DecodeUTF8(start + 1, (Py_ssize_t)token->length - 2, NULL);
        }
    }
    return parse(start, (Py_ssize_t)token->length);
}

PyDoc_STRVAR(document_value_doc, "value() -> the document as Python objects");

static PyObject *
document_value(Document *document, PyObject *unused)
{
    PyObject *value = value_of(document, &document->tokens[0]);
    (void)unused;
    if (value != NULL && document->dropped != NULL
        && PyDict_DelItem(value, document->dropped) < 0) {
        Py_CLEAR(value);
    }
    return value;
}

/* Whether orjson would write the same bytes, or -1 for an error. Python writes the digits of a
   long float like orjson, and in the same form unless it is small or large. */
static int
is_canonical(Document *document)
{
    for (uint32_t i = 0; document->is_canonical == UNSURE && i < document->tokens[0].next; i++) {
        const Token *token = &document->tokens[i];
        if (token->type == IS_REAL && token->length > EXACT_DIGITS) {
            char *text = PyOS_double_to_string(token->is.real, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
            if (text == NULL) {
                return -1;
            }
            if (strlen(text) != token->length
                || memcmp(text, BYTES(document) + token->start, token->length) != 0) {
                document->is_canonical = 0;
            }
            PyMem_Free(text);
        }
    }
    document->is_canonical = document->is_canonical != 0;
    return document->is_canonical;
}

static PyObject *
document_canonical(Document *document, void *unused)
{
    PyObject *bytes;
    Py_ssize_t length = PyBytes_GET_SIZE(document->raw);
    int canonical = is_canonical(document);
    (void)unused;
    if (canonical < 0) {
        return NULL;
    }
    if (!canonical || document->gap_length == 0) {
        return Py_NewRef(canonical ? document->raw : Py_None);
    }
    bytes = PyBytes_FromStringAndSize(NULL, length - document->gap_length);
    if (bytes != NULL) {
        char *to = PyBytes_AS_STRING(bytes);
        const char *from = PyBytes_AS_STRING(document->raw);
        size_t after = document->gap + document->gap_length;
        memcpy(to, from, document->gap);
        memcpy(to + document->gap, from + after, (size_t)length - after);
    }
    return bytes;
}

/* Find the member of an object with an ASCII key; NULL if there is none. */
static const Token *
find_by_key(const Document *document, const Token *object, const char *key, size_t length)
{
    const Token *member = object + 1;
    for (uint32_t i = 0; i < object->is.count; i++) {
        if (member->key_length == length
            && memcmp(BYTES(document) + member->key, key, length) == 0) {
            return member;
        }
        member = &document->tokens[member->next];
    }
    return NULL;
}

/* Take one step of a path; NULL if it leads nowhere. */
static const Token *
take_step(const Document *document, const Token *value, PyObject *step)
{
    if (value->type == IS_OBJECT && PyUnicode_Check(step)) {
        return find_by_key(document, value, (const char *)PyUnicode_1BYTE_DATA(step),
                           (size_t)PyUnicode_GET_LENGTH(step));
    }
    if (value->type == IS_LIST && PyLong_Check(step)) {
        const Token *item = value + 1;
        long long place = PyLong_AsLongLong(step);
        if (place < 0 || place >= value->is.count) {
            PyErr_Clear(); /* too large for any list */
            return NULL;
        }
        while (place-- > 0) {
            item = &document->tokens[item->next];
        }
        return item;
    }
    return NULL;
}

PyDoc_STRVAR(document_resolve_doc,
             "resolve(text, segments, starts, missing) -> the value at a path, or `missing`\n\n"
             "The arguments are those of a `Path`. Some paths give NotImplemented: they are left\n"
             "to Python.");

/* Find the value at a path (`resolve`). */
static PyObject *
document_resolve(Document *document, PyObject *const *args, Py_ssize_t number)
{
    const Token *value = &document->tokens[0];
    PyObject *text, *steps, *starts;
    if (number != 4 || !PyUnicode_Check(args[0]) || !PyTuple_Check(args[1])
        || !PyTuple_Check(args[2]) || PyTuple_GET_SIZE(args[1]) != PyTuple_GET_SIZE(args[2])) {
        PyErr_SetString(PyExc_TypeError, "expected a text, its steps, their starts and a default");
        return NULL;
    }
    text = args[0];
    steps = args[1];
    starts = args[2];
    if (!PyUnicode_IS_ASCII(text)) {
        Py_RETURN_NOTIMPLEMENTED; /* starts are not places of bytes */
    }
    for (Py_ssize_t i = 0; value != NULL && i < PyTuple_GET_SIZE(steps); i++) {
        PyObject *step = PyTuple_GET_ITEM(steps, i);
        Py_ssize_t start = PyLong_AsSsize_t(PyTuple_GET_ITEM(starts, i));
        int is_key = PyUnicode_Check(step) && PyUnicode_IS_ASCII(step);
        if (start < 0 || start > PyUnicode_GET_LENGTH(text)) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "a step must start in the text");
            }
            return NULL;
        }
        if (!is_key && (value->type == IS_OBJECT || !PyLong_Check(step))) {
            Py_RETURN_NOTIMPLEMENTED; /* a wildcard, or an index as a key */
        }
        if (value->type == IS_OBJECT) {
            const char *rest = (const char *)PyUnicode_1BYTE_DATA(text) + start;
            size_t length = (size_t)(PyUnicode_GET_LENGTH(text) - start);
            const Token *found = find_by_key(document, value, rest, length);
            if (found != NULL) {
                return value_of(document, found);
            }
        }
        value = take_step(document, value, step);
    }
    return value == NULL ? Py_NewRef(args[3]) : value_of(document, value);
}

static PyMethodDef document_methods[] = {
    {"resolve", (PyCFunction)(void (*)(void))document_resolve, METH_FASTCALL, document_resolve_doc},
    {"value", (PyCFunction)document_value, METH_NOARGS, document_value_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef document_properties[] = {
    {"canonical", (getter)document_canonical, NULL,
     "The bytes of the document if orjson would write the same, else None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject DocumentType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fieldmark.model._kernel.Document",
    .tp_doc = "An object as JSON that has been checked, but not been parsed.",
    .tp_basicsize = offsetof(Document, tokens),
    .tp_itemsize = sizeof(Token),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)document_dealloc,
    .tp_methods = document_methods,
    .tp_getset = document_properties,
};

/* ---- 4. Lines ---- */

#define SHORT_TAPE 1024
#define BYTES_PER_TOKEN 4 /* of longer lines with more tokens, Python objects take less memory */

typedef struct {
    Reader reader;
    PyObject *id_key;                        /* str, or None */
    PyObject *id_bytes, *value_bytes, *tags; /* the UTF-8 of the keys, or NULL */
    uint64_t id_hash, value_hash, tags_hash;
} LineReader;

/* Find the member of a row with a key; 0 if there is none. */
static uint32_t
find_in_row(const Reader *reader, PyObject *key, uint64_t hash)
{
    const Token *row = &reader->tokens[0];
    uint32_t at = 1;
    for (uint32_t i = 0; i < row->is.count; i++) {
        const Token *member = &reader->tokens[at];
        if (member->key_hash == hash && (Py_ssize_t)member->key_length == PyBytes_GET_SIZE(key)
            && memcmp(reader->begin + member->key, PyBytes_AS_STRING(key), member->key_length)
                   == 0) {
            return at;
        }
        at = member->next;
    }
    return 0;
}

/* The id of a row as by `id_text`: a string without escapes, or an integer. */
static PyObject *
id_of(const Reader *reader, const Token *token)
{
    const char *start = (const char *)reader->begin + token->start;
    if (token->type == IS_TEXT) {
        return PyUnicode_DecodeUTF8(start + 1, (Py_ssize_t)token->length - 2, NULL);
    }
    return PyUnicode_DecodeUTF8(start, (Py_ssize_t)token->length, NULL);
}

/* Read the id and the document of a line (`_read_row`); both are new references. */
static int
read_row(LineReader *lines, const Byte *begin, const Byte *end, PyObject **id, PyObject **document)
{
    Reader *reader = &lines->reader;
    uint32_t id_place = 0, root = 0;
    int done = read_line(reader, begin, end);
    if (done != DONE || reader->tokens[0].type != IS_OBJECT
        || reader->number > SHORT_TAPE + (size_t)(end - begin) / BYTES_PER_TOKEN) {
        return done == FAILED ? FAILED : TO_PYTHON;
    }
    if (lines->id_bytes != NULL) {
        const Token *token;
        id_place = find_in_row(reader, lines->id_bytes, lines->id_hash);
        token = &reader->tokens[id_place];
        if (id_place == 0 || !(token->type == IS_TEXT || token->type == IS_WHOLE)
            || (token->flags & ESCAPED)) {
            return TO_PYTHON;
        }
    }
    if (lines->value_bytes != NULL) {
        root = find_in_row(reader, lines->value_bytes, lines->value_hash);
        if (root == 0 || reader->tokens[root].type != IS_OBJECT
            || find_in_row(reader, lines->tags, lines->tags_hash) > 0) {
            return TO_PYTHON;
        }
    }
    *id = id_place > 0 ? id_of(reader, &reader->tokens[id_place]) : Py_NewRef(Py_None);
    *document = (PyObject *)make_document(reader, root, root > 0 ? 0 : id_place, lines->id_key);
    return *id == NULL || *document == NULL ? FAILED : DONE;
}

static int
is_blank(const Byte *at, const Byte *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
        at++;
    }
    return at == end;
}

/* Append the line to the lists; a refused line is added as its bytes. */
static int
append_line(LineReader *lines, const Byte *begin, const Byte *end, PyObject *ids,
            PyObject *documents)
{
    PyObject *id = NULL, *document = NULL;
    int done = read_row(lines, begin, end, &id, &document);
    if (done == TO_PYTHON) {
        id = Py_NewRef(Py_None);
        document = PyBytes_FromStringAndSize((const char *)begin, end - begin);
        done = document == NULL ? FAILED : DONE;
    }
    if (done == DONE && (PyList_Append(ids, id) < 0 || PyList_Append(documents, document) < 0)) {
        done = FAILED;
    }
    Py_XDECREF(id);
    Py_XDECREF(document);
    return done;
}

/* Append a number to a list. */
static int
append_number(PyObject *numbers, Py_ssize_t number)
{
    PyObject *boxed = PyLong_FromSsize_t(number);
    int done = boxed != NULL && PyList_Append(numbers, boxed) == 0 ? DONE : FAILED;
    Py_XDECREF(boxed);
    return done;
}

/* A list of the numbers from 0 to this one, exclusively. */
static PyObject *
numbers_below(Py_ssize_t end)
{
    PyObject *numbers = PyList_New(0);
    for (Py_ssize_t i = 0; numbers != NULL && i < end; i++) {
        if (append_number(numbers, i) != DONE) {
            Py_CLEAR(numbers);
        }
    }
    return numbers;
}

/* Read a block; the numbers of its lines are needed only if there are blank ones. */
static int
read_lines(LineReader *lines, PyObject *raw, PyObject *ids, PyObject *documents, PyObject **numbers)
{
    const Byte *at = (const Byte *)PyBytes_AS_STRING(raw), *end = at + PyBytes_GET_SIZE(raw);
    Py_ssize_t number = 0;
    for (; at < end; number++) {
        const Byte *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end == NULL ? end : line_end;
        if (is_blank(at, line_end)) {
            if (*numbers == Py_None && (*numbers = numbers_below(number)) == NULL) {
                return FAILED;
            }
        } else if (append_line(lines, at, line_end, ids, documents) != DONE
                   || (*numbers != Py_None && append_number(*numbers, number) != DONE)) {
            return FAILED;
        }
        at = line_end + 1;
    }
    return DONE;
}

/* Take the UTF-8 of a key, or NULL for None. */
static int
set_key(PyObject *key, PyObject **bytes, uint64_t *hash)
{
    *bytes = NULL;
    if (key == Py_None) {
        return 1;
    }
    *bytes = PyUnicode_AsUTF8String(key);
    if (*bytes != NULL) {
        *hash =
            hash_bytes((const Byte *)PyBytes_AS_STRING(*bytes), (size_t)PyBytes_GET_SIZE(*bytes));
    }
    return *bytes != NULL;
}

PyDoc_STRVAR(read_doc,
             "read(raw, id_key, value_key, depth, key_characters, path_characters, line_bytes)\n"
             "-> (ids, documents, numbers)\n\n"
             "Read a block of lines. A line that is not strict JSON, that exceeds a limit or that\n"
             "has an unusual id is refused: its document is the bytes of the line. Blank lines\n"
             "are skipped: `numbers` are then the numbers of the other lines in the block, from\n"
             "0. Without blank lines, they are None.");

static PyObject *
read_block(PyObject *module, PyObject *args)
{
    PyObject *raw, *value_key, *ids, *documents, *numbers, *all = NULL;
    LineReader lines = {0};
    Limits *limits = &lines.reader.limits;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OOnnnn", &PyBytes_Type, &raw, &lines.id_key, &value_key,
                          &limits->depth, &limits->key_characters, &limits->path_characters,
                          &limits->line_bytes)) {
        return NULL;
    }
    lines.tags = PyBytes_FromString("tags");
    lines.tags_hash = hash_bytes((const Byte *)"tags", 4);
    ids = PyList_New(0);
    documents = PyList_New(0);
    numbers = Py_None; /* which lives as long as the process */
    if (ids != NULL && documents != NULL && lines.tags != NULL
        && set_key(lines.id_key, &lines.id_bytes, &lines.id_hash)
        && set_key(value_key, &lines.value_bytes, &lines.value_hash)
        && read_lines(&lines, raw, ids, documents, &numbers) == DONE) {
        all = PyTuple_Pack(3, ids, documents, numbers);
    }
    Py_XDECREF(ids);
    Py_XDECREF(documents);
    if (numbers != Py_None) {
        Py_XDECREF(numbers);
    }
    Py_XDECREF(lines.id_bytes);
    Py_XDECREF(lines.value_bytes);
    Py_XDECREF(lines.tags);
    free_reader(&lines.reader);
    return all;
}

PyDoc_STRVAR(
    is_strict_doc,
    "is_strict(raw, depth, key_characters, path_characters)\n\n"
    "Whether JSON is certainly strict and within the limits: without duplicate keys, long\n"
    "integers, lone surrogates, deep nesting and long keys or paths.");

static PyObject *
is_strict(PyObject *module, PyObject *args)
{
    Reader reader = {.limits = {.line_bytes = PY_SSIZE_T_MAX}};
    Limits *limits = &reader.limits;
    PyObject *raw;
    const Byte *begin;
    int done;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!nnn", &PyBytes_Type, &raw, &limits->depth,
                          &limits->key_characters, &limits->path_characters)) {
        return NULL;
    }
    begin = (const Byte *)PyBytes_AS_STRING(raw);
    done = read_line(&reader, begin, begin + PyBytes_GET_SIZE(raw));
    free_reader(&reader);
    return done == FAILED ? NULL : PyBool_FromLong(done == DONE);
}

PyDoc_STRVAR(document_doc, "document(raw) -> Document, or None if it is left to Python\n\n"
                           "Read JSON that was written by orjson.");

static PyObject *
document(PyObject *module, PyObject *raw)
{
    Reader reader = {.limits = {MAX_DEPTH, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX}};
    PyObject *made = NULL;
    const Byte *begin;
    int done;
    (void)module;
    if (!PyBytes_Check(raw)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    begin = (const Byte *)PyBytes_AS_STRING(raw);
    done = read_line(&reader, begin, begin + PyBytes_GET_SIZE(raw));
    if (done == DONE && reader.tokens[0].type == IS_OBJECT) {
        made = (PyObject *)make_document(&reader, 0, 0, NULL);
    } else if (done != FAILED) {
        made = Py_NewRef(Py_None);
    }
    free_reader(&reader);
    return made;
}

/* Whether a document has one of the keys. */
static int
has_any_key(const Document *document, PyObject *keys, const uint64_t *hashes)
{
    const Token *root = &document->tokens[0], *member = root + 1;
    for (uint32_t i = 0; i < root->is.count; i++) {
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(keys); j++) {
            PyObject *key = PyTuple_GET_ITEM(keys, j);
            if (member->key_hash == hashes[j]
                && PyBytes_GET_SIZE(key) == (Py_ssize_t)member->key_length
                && memcmp(BYTES(document) + member->key, PyBytes_AS_STRING(key), member->key_length)
                       == 0) {
                return 1;
            }
        }
        member = &document->tokens[member->next];
    }
    return 0;
}

PyDoc_STRVAR(find_document_doc,
             "find_document(documents, start, keys) -> place\n\n"
             "The place of the first document from `start` on with one of the keys, which are\n"
             "bytes, or of the first value that is not an unparsed document.");

static PyObject *
find_document(PyObject *module, PyObject *args)
{
    PyObject *documents, *keys;
    Py_ssize_t place;
    uint64_t *hashes;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!nO!", &PyList_Type, &documents, &place, &PyTuple_Type, &keys)) {
        return NULL;
    }
    hashes = PyMem_New(uint64_t, PyTuple_GET_SIZE(keys));
    if (hashes == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *key = PyTuple_GET_ITEM(keys, i);
        if (!PyBytes_Check(key)) {
            PyErr_SetString(PyExc_TypeError, "keys must be bytes");
            PyMem_Free(hashes);
            return NULL;
        }
        hashes[i] = hash_bytes((const Byte *)PyBytes_AS_STRING(key), (size_t)PyBytes_GET_SIZE(key));
    }
    while (place >= 0 && place < PyList_GET_SIZE(documents)) {
        PyObject *document = PyList_GET_ITEM(documents, place);
        if (!Py_IS_TYPE(document, &DocumentType)
            || has_any_key((const Document *)document, keys, hashes)) {
            break;
        }
        place++;
    }
    PyMem_Free(hashes);
    return PyLong_FromSsize_t(place);
}

PyDoc_STRVAR(hash_ids_doc,
             "hash_ids(ids, greatest) -> (hashes, is_ascending), or None if an id is None\n\n"
             "The hashes of ids as bytes, and whether each id is greater than the one before it,\n"
             "the first than `greatest` (`_hash_ids`).");

static PyObject *
hash_ids(PyObject *module, PyObject *args)
{
    PyObject *ids, *previous, *hashes;
    int is_ascending = 1;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!U", &PyList_Type, &ids, &previous)) {
        return NULL;
    }
    hashes = PyBytes_FromStringAndSize(NULL, PyList_GET_SIZE(ids) * (Py_ssize_t)sizeof(int64_t));
    if (hashes == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ids); i++) {
        PyObject *id = PyList_GET_ITEM(ids, i);
        int64_t hash;
        if (!PyUnicode_CheckExact(id)) {
            Py_DECREF(hashes);
            if (id == Py_None) {
                return Py_NewRef(Py_None);
            }
            PyErr_SetString(PyExc_TypeError, "ids must be strings");
            return NULL;
        }
        hash = (int64_t)PyObject_Hash(id);
        memcpy(PyBytes_AS_STRING(hashes) + (size_t)i * sizeof hash, &hash, sizeof hash);
        is_ascending = is_ascending && PyUnicode_Compare(previous, id) < 0;
        previous = id;
    }
    return Py_BuildValue("NO", hashes, is_ascending ? Py_True : Py_False);
}

PyDoc_STRVAR(count_lines_doc, "count_lines(raw) -> the number of line feeds");

static PyObject *
count_lines(PyObject *module, PyObject *raw)
{
    const char *at, *end;
    Py_ssize_t number = 0;
    (void)module;
    if (!PyBytes_Check(raw)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    at = PyBytes_AS_STRING(raw);
    end = at + PyBytes_GET_SIZE(raw);
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        number++;
        at++;
    }
    return PyLong_FromSsize_t(number);
}

/* ---- 5. Nodes ---- */

/* What `KernelWalk.describe` says about an attribute, as flags. */
enum {
    WALKS = 1,       /* objects are walked */
    ALIGNS = 2,      /* lists are aligned */
    IS_LEAF = 4,     /* scalars are classified by presence, then by the comparator */
    TRUTH_ONLY = 8,  /* nothing is recorded without an expected value */
    SKIPPED = 16,    /* nothing is recorded */
    WHOLE_RULE = 32, /* a rule applies to items as a whole */
    RULED = 64,      /* rules decide how similar items are */
    GREEDY = 128,    /* the most similar items are paired first */
    EXACT = 256,     /* the comparator is `Exact` */
};

#define MOST_AGREED 256 /* a power of two */

typedef struct Node Node;
struct Node {
    PyObject *node; /* the `AttributeNode` */
    PyObject *key;  /* bytes */
    uint64_t key_hash;
    Node **children;
    size_t number, capacity;
    uint32_t *table; /* the places of children by hash, from 1 */
    size_t table_size;
    Node *item;

    int flags;
    long long base;         /* -1 until the attribute is registered */
    PyObject *match;        /* the cell of a match */
    int text_matches;       /* equal text is a match */
    int number_matches;     /* equal numbers are a match */
    int iso_matches;        /* equal dates in ISO format are a match */
    PyObject *compare;      /* of the comparator, or None if `Walk.compare` has to be called */
    PyObject *leaf_rule;    /* `item_leaves` of its rule, None if it has none, False if it cannot */
    PyObject *rule_compare; /* `compare` of its rule, or None */
    PyObject *item_path;    /* of its items, or None */
    PyObject *item_node;    /* the `AttributeNode` of its items, or None */
    PyObject *fields;       /* the keys that items are compared on, as a tuple of bytes, or None */
    PyObject *select;       /* selects among contested pairs of items */
    PyObject *align_rest;   /* aligns items that are not equal */
    double min_weight;      /* of a pair of items; negative if the similarity is left to Python */
    int keeps_text;         /* its rule is an edit distance of normalized text */
    double absolute;        /* the tolerance of its rule for numbers, negative if it has none */
    double relative;
    double at_zero;    /* the tolerance of an expected zero */
    PyObject **agreed; /* texts that match themselves, as bytes, in places by their hashes */
};

typedef struct {
    PyObject_HEAD Node *root;
    PyObject *describe;
    PyObject *compare;          /* Walk.compare */
    PyObject *classify;         /* Walk.classify */
    PyObject *record;           /* Walk.record_unmatched */
    PyObject *record_item;      /* Walk.record_unmatched_item */
    PyObject *record_bare_item; /* Walk.record_bare_item */
    PyObject *similarity;       /* text_similarity */
    PyObject *outcomes;         /* Outcomes */
    PyObject *matched;          /* MATCHED */
    PyObject *different;        /* DIFFERENT */
    PyObject *wrong_type;       /* WRONG_TYPE */
    PyObject *missing;          /* MISSING */
    PyObject *fold;             /* folded */
    PyObject *child, *item;     /* "child", "item" */
    PyObject *any_index;        /* -1 */
    Py_ssize_t slots[5];        /* where Outcomes have what `make_outcomes` sets */
    PyObject *extra;            /* ("extra",) */
    PyObject *extra_in_list;    /* ("extra", "in_list") */
    int with_extras;
    Byte facts[18]; /* of presences, of a wrong value, and of a wrong type */
} Walker;

static void
free_node(Node *node)
{
    if (node == NULL) {
        return;
    }
    for (size_t i = 0; i < node->number; i++) {
        free_node(node->children[i]);
    }
    free_node(node->item);
    Py_XDECREF(node->node);
    Py_XDECREF(node->key);
    Py_XDECREF(node->match);
    Py_XDECREF(node->compare);
    Py_XDECREF(node->leaf_rule);
    Py_XDECREF(node->rule_compare);
    Py_XDECREF(node->item_path);
    Py_XDECREF(node->item_node);
    Py_XDECREF(node->fields);
    Py_XDECREF(node->select);
    Py_XDECREF(node->align_rest);
    for (size_t i = 0; node->agreed != NULL && i < MOST_AGREED; i++) {
        Py_XDECREF(node->agreed[i]);
    }
    PyMem_Free(node->agreed);
    PyMem_Free(node->children);
    PyMem_Free(node->table);
    PyMem_Free(node);
}

/* Ask Python about a node; again after its attribute was registered, or its item node created. */
static int
describe(const Walker *walker, Node *node)
{
    PyObject *told = PyObject_CallOneArg(walker->describe, node->node), *given[9];
    PyObject **kept[9] = {&node->match,        &node->compare,   &node->leaf_rule,
                          &node->rule_compare, &node->item_path, &node->item_node,
                          &node->fields,       &node->select,    &node->align_rest};
    if (told == NULL) {
        return FAILED;
    }
    if (!PyArg_ParseTuple(told, "iLpppdpdddOOOOOOOOO", &node->flags, &node->base,
                          &node->text_matches, &node->number_matches, &node->iso_matches,
                          &node->min_weight, &node->keeps_text, &node->absolute, &node->relative,
                          &node->at_zero, &given[0], &given[1], &given[2], &given[3], &given[4],
                          &given[5], &given[6], &given[7], &given[8])) {
        Py_DECREF(told);
        return FAILED;
    }
    for (int i = 0; i < 9; i++) {
        Py_XSETREF(*kept[i], Py_NewRef(given[i]));
    }
    Py_DECREF(told);
    return DONE;
}

static Node *
make_node(const Walker *walker, PyObject *attribute)
{
    Node *node = PyMem_Calloc(1, sizeof *node);
    if (node == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    node->node = Py_NewRef(attribute);
    if (describe(walker, node) != DONE) {
        free_node(node);
        return NULL;
    }
    return node;
}

static void
enter_child(Node *node, size_t place)
{
    size_t at = (size_t)node->children[place]->key_hash & (node->table_size - 1);
    while (node->table[at] != 0) {
        at = (at + 1) & (node->table_size - 1);
    }
    node->table[at] = (uint32_t)place + 1;
}

/* Make room for one more child, in the list and in the table. */
static int
grow_children(Node *node)
{
    size_t capacity = node->capacity ? 2 * node->capacity : 8;
    Node **children;
    uint32_t *table;
    if (node->number < node->capacity) {
        return DONE;
    }
    if (capacity > UINT32_MAX / 4) {
        PyErr_NoMemory();
        return FAILED;
    }
    children = PyMem_Realloc(node->children, capacity * sizeof *children);
    if (children == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    node->children = children;
    table = PyMem_Calloc(2 * capacity, sizeof *table);
    if (table == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    PyMem_Free(node->table);
    node->table = table;
    node->table_size = 2 * capacity;
    node->capacity = capacity;
    for (size_t i = 0; i < node->number; i++) {
        enter_child(node, i);
    }
    return DONE;
}

static int
has_key(const Node *node, const Byte *bytes, const Token *token)
{
    return node->key_hash == token->key_hash
           && PyBytes_GET_SIZE(node->key) == (Py_ssize_t)token->key_length
           && are_same_bytes((const Byte *)PyBytes_AS_STRING(node->key), bytes + token->key,
                             token->key_length);
}

/* The first document with this key: create the node below it (`AttributeNode.child`). */
static Node *
add_child(const Walker *walker, Node *node, const Byte *bytes, const Token *token)
{
    const char *start = (const char *)bytes + token->key;
    PyObject *key, *attribute;
    Node *child;
    if (grow_children(node) != DONE) {
        return NULL;
    }
    key = PyUnicode_DecodeUTF8(start, (Py_ssize_t)token->key_length, NULL);
    if (key == NULL) {
        return NULL;
    }
    attribute = PyObject_CallMethodOneArg(node->node, walker->child, key);
    Py_DECREF(key);
    if (attribute == NULL) {
        return NULL;
    }
    child = make_node(walker, attribute);
    Py_DECREF(attribute);
    if (child == NULL) {
        return NULL;
    }
    child->key = PyBytes_FromStringAndSize(start, (Py_ssize_t)token->key_length);
    if (child->key == NULL) {
        free_node(child);
        return NULL;
    }
    child->key_hash = token->key_hash;
    node->children[node->number] = child;
    enter_child(node, node->number++);
    return child;
}

/* The node below the key of a token; `guess` is where it was in other documents. */
static Node *
child_of(const Walker *walker, Node *node, const Byte *bytes, const Token *token, size_t guess)
{
    if (guess < node->number && has_key(node->children[guess], bytes, token)) {
        return node->children[guess];
    }
    if (node->number > 0) {
        size_t at = (size_t)token->key_hash & (node->table_size - 1);
        while (node->table[at] != 0) {
            Node *child = node->children[node->table[at] - 1];
            if (has_key(child, bytes, token)) {
                return child;
            }
            at = (at + 1) & (node->table_size - 1);
        }
    }
    return add_child(walker, node, bytes, token);
}

/* The node of all items of a list (`AttributeNode.item`); NULL without an error if a rule names
   an index, so that there are several. */
static Node *
item_of(const Walker *walker, Node *node)
{
    if (node->item == NULL && node->item_node == Py_None) {
        PyObject *made = PyObject_CallMethodOneArg(node->node, walker->item, walker->any_index);
        Py_XDECREF(made);
        if (made == NULL || describe(walker, node) != DONE) {
            return NULL;
        }
    }
    if (node->item == NULL && node->item_node != Py_None) {
        node->item = make_node(walker, node->item_node);
    }
    return node->item;
}

/* ---- 6. Fields ---- */

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

/* `presence`. */
static int
presence_of(const Token *token)
{
    if (token == NULL) {
        return ABSENT;
    }
    if (token->type == IS_NULL) {
        return NULL_VALUE;
    }
    if (token->type != IS_TEXT || (token->flags & FILLED)) {
        return VALUE;
    }
    return token->flags & (ESCAPED | WIDE) ? UNKNOWN : BLANK;
}

static int
append_cell(const Pair *pair, long long cell)
{
    PyObject *number = PyLong_FromLongLong(cell);
    int done = number != NULL && PyList_Append(pair->cells, number) == 0 ? DONE : FAILED;
    Py_XDECREF(number);
    return done;
}

static int
append_match(const Pair *pair, const Node *node)
{
    return PyList_Append(pair->cells, node->match) == 0 ? DONE : FAILED;
}

/* A value or MISSING. */
static PyObject *
side_of(const Pair *pair, const Document *document, const Token *token)
{
    return token == NULL ? Py_NewRef(pair->walker->missing) : value_of(document, token);
}

/* Let Python compare two values, and everything inside them. */
static int
compare_by_python(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    PyObject *value = side_of(pair, pair->expected, expected);
    PyObject *other = value == NULL ? NULL : side_of(pair, pair->candidate, candidate);
    PyObject *told = NULL;
    int done;
    if (other != NULL) {
        told = PyObject_CallFunctionObjArgs(pair->walker->compare, node->node, value, other,
                                            pair->outcomes, NULL);
    }
    done = told == NULL ? FAILED : DONE;
    Py_XDECREF(value);
    Py_XDECREF(other);
    Py_XDECREF(told);
    if (done == DONE && node->base < 0 && (node->flags & IS_LEAF)) {
        done = describe(pair->walker, node);
    }
    return done;
}

/* Whether two values are the same text. */
static int
are_same_text(const Pair *pair, const Token *expected, const Token *candidate)
{
    return expected->type == IS_TEXT && candidate->type == IS_TEXT
           && expected->length == candidate->length
           && memcmp(BYTES(pair->expected) + expected->start,
                     BYTES(pair->candidate) + candidate->start, expected->length)
                  == 0;
}

/* The place for a text that the comparator found to match itself, such as a pattern that can be
   read; NULL for an error. */
static PyObject **
agreed_place(Node *node, const Token *text)
{
    if (node->agreed == NULL) {
        node->agreed = PyMem_Calloc(MOST_AGREED, sizeof *node->agreed);
        if (node->agreed == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
    }
    return &node->agreed[text->hash & (MOST_AGREED - 1)];
}

static int
is_digit(Byte letter)
{
    return letter >= '0' && letter <= '9';
}

/* Whether a string, with its quotes, is a day as `date.fromisoformat` reads it. */
static int
is_iso_day(const Byte *text, uint32_t length)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int numbers[3] = {0, 0, 0}, part = 0, leap;
    if (length != sizeof "\"2024-12-31\"" - 1 || text[5] != '-' || text[8] != '-') {
        return 0;
    }
    for (int i = 1; i < 11; i++) {
        if (i == 5 || i == 8) {
            part++;
        } else if (is_digit(text[i])) {
            numbers[part] = 10 * numbers[part] + text[i] - '0';
        } else {
            return 0;
        }
    }
    leap = numbers[0] % 4 == 0 && (numbers[0] % 100 != 0 || numbers[0] % 400 == 0);
    return numbers[0] > 0 && numbers[1] >= 1 && numbers[1] <= 12 && numbers[2] >= 1
           && numbers[2] <= days[numbers[1] - 1] - (numbers[1] == 2 && !leap);
}

#define LARGEST_EXACT ((int64_t)1 << 53) /* of integers that are floats; see align/leaves.py */

/* Whether two numbers are equal: 1, 0, or -1 if that is left to Python. */
static int
are_equal_numbers(const Token *one, const Token *other)
{
    const Token *whole = one->type == IS_WHOLE ? one : other;
    const Token *real = whole == one ? other : one;
    if (one->type == other->type) {
        return one->type == IS_WHOLE ? one->is.whole == other->is.whole
                                     : one->is.real == other->is.real;
    }
    if (whole->is.whole > LARGEST_EXACT || whole->is.whole < -LARGEST_EXACT) {
        return -1;
    }
    return (double)whole->is.whole == real->is.real;
}

/* `Exact.compare` and `Walk.classify` for two scalars. */
static int
compare_exactly(const Pair *pair, const Node *node, const Token *expected, const Token *candidate)
{
    static const Byte kinds[] = {0, 1, 1, 2, 2, 3}; /* `kind_of`, by type */
    int is_same_kind = kinds[expected->type] == kinds[candidate->type], equal = 0, done = FAILED;
    PyObject *place;
    if (is_same_kind && expected->type == IS_TEXT) {
        int is_variant = (expected->flags | candidate->flags) & VARIANT;
        equal = are_same_text(pair, expected, candidate) ? 1 : is_variant ? -1 : 0;
    } else if (is_same_kind && kinds[expected->type] == 2) {
        equal = are_equal_numbers(expected, candidate);
    } else if (is_same_kind) {
        equal = expected->type == candidate->type;
    }
    if (equal != 0) {
        return equal < 0 ? TO_PYTHON : append_match(pair, node);
    }
    place = PyLong_FromSsize_t(PyList_GET_SIZE(pair->cells));
    if (place != NULL
        && PyDict_SetItem(pair->comparisons, place,
                          is_same_kind ? pair->walker->different : pair->walker->wrong_type)
               == 0) {
        done = append_cell(pair, node->base | pair->walker->facts[is_same_kind ? 16 : 17]);
    }
    Py_XDECREF(place);
    return done;
}

/* Call the comparator for two values, and classify the result (`Walk.classify`). Comparators have
   no state, so what was found for a text holds for all documents. */
static int
compare_values(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    const char *text = (const char *)BYTES(pair->expected) + expected->start;
    PyObject **agreed = NULL;
    if (node->flags & EXACT) {
        int done = compare_exactly(pair, node, expected, candidate);
        if (done != TO_PYTHON) {
            return done;
        }
    }
    if (are_same_text(pair, expected, candidate)) {
        if (node->iso_matches && is_iso_day((const Byte *)text, expected->length)) {
            return append_match(pair, node);
        }
        agreed = agreed_place(node, expected);
        if (agreed == NULL) {
            return FAILED;
        }
    }
    if (agreed != NULL && *agreed != NULL
        && PyBytes_GET_SIZE(*agreed) == (Py_ssize_t)expected->length
        && memcmp(PyBytes_AS_STRING(*agreed), text, expected->length) == 0) {
        return append_match(pair, node);
    }
    PyObject *value = value_of(pair->expected, expected);
    PyObject *other = value == NULL ? NULL : value_of(pair->candidate, candidate);
    PyObject *arguments[3] = {NULL, value, other}, *found = NULL;
    int done = FAILED;
    if (other != NULL) {
        found = PyObject_Vectorcall(node->compare, arguments + 1,
                                    2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    if (found == pair->walker->matched) {
        done = append_match(pair, node);
        if (agreed != NULL && done == DONE) {
            PyObject *bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)expected->length);
            done = bytes == NULL ? FAILED : DONE;
            Py_XSETREF(*agreed, bytes);
        }
    } else if (found != NULL) {
        PyObject *cell = NULL, *place = PyLong_FromSsize_t(PyList_GET_SIZE(pair->cells));
        if (place != NULL) {
            cell = PyObject_CallFunctionObjArgs(pair->walker->classify, node->node, found, value,
                                                other, pair->outcomes, place, NULL);
        }
        done = cell != NULL && PyList_Append(pair->cells, cell) == 0 ? DONE : FAILED;
        Py_XDECREF(place);
        Py_XDECREF(cell);
    }
    Py_XDECREF(value);
    Py_XDECREF(other);
    Py_XDECREF(found);
    return done;
}

/* Whether two scalars are equal for certain; Python decides about all others. */
static int
are_equal(const Pair *pair, const Node *node, const Token *expected, const Token *candidate)
{
    if (expected->type != candidate->type) {
        return 0;
    }
    switch (expected->type) {
    case IS_TEXT:
        return node->text_matches && (expected->flags & FILLED)
               && are_same_text(pair, expected, candidate);
    case IS_WHOLE:
        return node->number_matches && expected->is.whole == candidate->is.whole;
    case IS_REAL:
        return node->number_matches && expected->is.real == candidate->is.real;
    default:
        return 0;
    }
}

/* `Walk._compare_leaf` for two scalars, of which one may be absent. */
static int
compare_leaf(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    int presence = presence_of(expected), other = presence_of(candidate);
    if (expected == NULL && ((node->flags & TRUTH_ONLY) || !pair->walker->with_extras)) {
        return DONE;
    }
    if (node->base < 0 || presence == UNKNOWN || other == UNKNOWN) {
        return compare_by_python(pair, node, expected, candidate);
    }
    if (presence != VALUE || other != VALUE) {
        return append_cell(pair, node->base | pair->walker->facts[presence * 4 + other]);
    }
    if (node->compare == Py_None) {
        return compare_by_python(pair, node, expected, candidate);
    }
    return compare_values(pair, node, expected, candidate);
}

static int compare_objects(const Pair *pair, Node *node, const Token *expected,
                           const Token *candidate);
static int compare_lists(const Pair *pair, Node *node, const Token *expected,
                         const Token *candidate);
static int record_unmatched(const Pair *pair, Node *node, const Token *token, int extra,
                            int in_list);

/* `Walk.compare`; either side may be absent. */
static int
compare(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    int has_container = (expected != NULL && expected->type >= IS_LIST)
                        || (candidate != NULL && candidate->type >= IS_LIST);
    if (node->flags & SKIPPED) {
        return DONE;
    }
    if (!has_container) {
        return node->flags & IS_LEAF ? compare_leaf(pair, node, expected, candidate)
                                     : compare_by_python(pair, node, expected, candidate);
    }
    if ((node->flags & WALKS) && (expected == NULL || candidate == NULL)) {
        const Token *only = expected == NULL ? candidate : expected;
        if (only->is.count > 0) {
            return record_unmatched(pair, node, only, expected == NULL, 0);
        }
    }
    if (expected != NULL && candidate != NULL && expected->type == candidate->type
        && expected->is.count > 0 && candidate->is.count > 0) {
        if (expected->type == IS_OBJECT && (node->flags & WALKS)) {
            return compare_objects(pair, node, expected, candidate);
        }
        if (expected->type == IS_LIST && (node->flags & ALIGNS)) {
            int done = compare_lists(pair, node, expected, candidate);
            if (done != TO_PYTHON) {
                return done;
            }
        }
    }
    return compare_by_python(pair, node, expected, candidate);
}

/* ---- Members of objects by key: in turn for few, with a table for many ---- */

#define FEW_MEMBERS 16

typedef struct {
    const Document *document;
    const Token *object;
    const Token *next; /* where the next key probably is */
    uint32_t at;       /* its number */
    uint32_t *table;   /* places of tokens by hash of their keys, or NULL for few members */
    size_t size;
} Members;

static int
open_members(Members *members, const Document *document, const Token *object)
{
    const Token *member = object + 1;
    members->document = document;
    members->object = object;
    members->next = member;
    members->at = 0;
    members->table = NULL;
    if (object->is.count <= FEW_MEMBERS) {
        return DONE;
    }
    members->size = 1;
    while (members->size < 2 * (size_t)object->is.count) {
        members->size *= 2;
    }
    members->table = PyMem_Calloc(members->size, sizeof *members->table);
    if (members->table == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (uint32_t i = 0; i < object->is.count; i++) {
        size_t at = (size_t)member->key_hash & (members->size - 1);
        while (members->table[at] != 0) {
            at = (at + 1) & (members->size - 1);
        }
        members->table[at] = (uint32_t)(member - document->tokens); /* never the first token */
        member = &document->tokens[member->next];
    }
    return DONE;
}

static void
close_members(Members *members)
{
    PyMem_Free(members->table);
}

static int
is_same_key(const Byte *bytes, const Token *one, const Byte *other_bytes, const Token *other)
{
    return one->key_hash == other->key_hash && one->key_length == other->key_length
           && are_same_bytes(bytes + one->key, other_bytes + other->key, one->key_length);
}

/* The member with the key of a token in another document, or NULL. */
static const Token *
find_member(Members *members, const Byte *bytes, const Token *wanted)
{
    const Byte *own = BYTES(members->document);
    const Token *tokens = members->document->tokens;
    uint32_t count = members->object->is.count;
    if (members->table == NULL
        || (members->at < count && is_same_key(own, members->next, bytes, wanted))) {
        /* The next key is probably the one after the last that was found. */
        for (uint32_t i = 0; i < count; i++) {
            const Token *member;
            if (members->at == count) {
                members->at = 0;
                members->next = members->object + 1;
            }
            member = members->next;
            members->next = &tokens[member->next];
            members->at++;
            if (is_same_key(own, member, bytes, wanted)) {
                return member;
            }
        }
        return NULL;
    }
    for (size_t at = (size_t)wanted->key_hash & (members->size - 1); members->table[at] != 0;
         at = (at + 1) & (members->size - 1)) {
        const Token *member = &tokens[members->table[at]];
        if (is_same_key(own, member, bytes, wanted)) {
            return member;
        }
    }
    return NULL;
}

/* `Walk.compare_objects`. */
static int
compare_objects(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    const Walker *walker = pair->walker;
    const Byte *bytes = BYTES(pair->expected), *other_bytes = BYTES(pair->candidate);
    const Token *member = expected + 1;
    uint32_t found = 0;
    Members others;
    int done = open_members(&others, pair->candidate, candidate);
    for (uint32_t i = 0; done == DONE && i < expected->is.count; i++) {
        Node *child = child_of(walker, node, bytes, member, i);
        const Token *other = find_member(&others, bytes, member);
        found += other != NULL;
        if (child == NULL) {
            done = FAILED;
        } else if (other != NULL && are_equal(pair, child, member, other)) {
            done = append_match(pair, child);
        } else {
            done = compare(pair, child, member, other);
        }
        member = &pair->expected->tokens[member->next];
    }
    close_members(&others);
    if (done != DONE || !walker->with_extras || found == candidate->is.count) {
        return done;
    }
    done = open_members(&others, pair->expected, expected);
    member = candidate + 1;
    for (uint32_t i = 0; done == DONE && i < candidate->is.count; i++) {
        if (find_member(&others, other_bytes, member) == NULL) {
            Node *child = child_of(walker, node, other_bytes, member, i);
            done = child == NULL ? FAILED : compare(pair, child, NULL, member);
        }
        member = &pair->candidate->tokens[member->next];
    }
    close_members(&others);
    return done;
}

/* ---- 7. Equal items ---- */

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

static void
free_side(Side *side)
{
    PyMem_Free(side->items);
    PyMem_Free(side->partners);
    PyMem_Free(side->rest);
}

static void
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

static int
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
static int
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

/* ---- 8. Similarity ---- */

#define LONGEST_TEXT 10000        /* MAX_TEXT in align/options.py */
#define MOST_PAIRS 2000000        /* of items; more are left to Python */
#define MOST_CHARACTER_PAIRS 5e10 /* far below MAX_CHARACTER_PAIRS in align/options.py */
#define MOST_CONTESTED 20000      /* edges; Python uses arrays for more */
#define MOST_WORK 2e11            /* MAX_CHARACTER_PAIRS there */
#define LEAF_COST 400.0           /* as in align/item_similarity.py, like the next two */
#define COLUMN_COST 500000.0
#define CALL_COST 50000.0
#define MOST_SIMILARITIES 1000000.0 /* _BLOCK there: similarities held in memory at once */
#define SLACK 0x1p-48               /* as in values/numbers.py, like the next two */
#define TINY 1e-300
#define LIMIT_MARGIN (1 + 0x1p-20) /* _MARGIN there */
#define FIRST_WIDE 128             /* the number of the first character beyond ASCII */
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

typedef struct {
    double weight;
    uint32_t place, other; /* among the rest */
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

typedef struct {
    const Pair *pair;
    Node *node, *item_node;
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
    int is_indexed;    /* whether there is any such leaf */
    Byte *common;      /* the number of letters that a text has in common with others */
    float *most;       /* upper bounds of the expected item at hand with each candidate item */
    float *settled;    /* the part of them that is exact */
    uint32_t smallest; /* the least number of leaves of a candidate item */
    float *equal;      /* the number of leaves that are equal and not graded */
    Byte *is_near;     /* whether a candidate item may be similar enough, then seven zeros */
    uint32_t *near;    /* those that may be */
    uint32_t near_number;
    Pattern *patterns;
    Edge *edges;
    size_t edge_number, edge_capacity;
    Aligned space[SPACE / sizeof(Aligned)];
} Search;

/* Memory for a search, or NULL for an error. */
static void *
take(Search *search, size_t number, size_t size)
{
    size_t unit = sizeof(Aligned), units;
    Block *block;
    if (number > (PY_SSIZE_T_MAX - sizeof *block - unit) / size) {
        PyErr_NoMemory();
        return NULL;
    }
    units = (number * size + unit - 1) / unit;
    if (units <= SPACE / unit - search->space_used) {
        void *taken = &search->space[search->space_used];
        search->space_used += units;
        return taken;
    }
    block = PyMem_Malloc(sizeof *block + number * size);
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->next = search->blocks;
    search->blocks = block;
    return block->bytes;
}

#define TAKE(search, type, number) ((type *)take(search, number, sizeof(type)))

static void
free_search(Search *search)
{
    while (search->blocks != NULL) {
        Block *block = search->blocks;
        search->blocks = block->next;
        PyMem_Free(block);
    }
    for (size_t i = 0; i < search->path_number; i++) {
        Py_XDECREF(search->paths[i].leaves);
    }
    PyMem_Free(search->edges);
}

/* The number of the key of a token among all keys; `guess` is a probable one. NOWHERE if there
   are too many keys. */
static uint32_t
path_of(Search *search, const Byte *bytes, const Token *token, size_t guess)
{
    for (size_t i = 0; i < search->path_number; i++) {
        size_t at = (guess + i) % search->path_number;
        if (is_same_key(bytes, token, search->paths[at].bytes, search->paths[at].token)) {
            return (uint32_t)at;
        }
    }
    if (search->path_number == MOST_PATHS) {
        return NOWHERE;
    }
    search->paths[search->path_number].token = token;
    search->paths[search->path_number].bytes = bytes;
    search->paths[search->path_number].sides = 0;
    search->paths[search->path_number].rule = NULL;
    search->paths[search->path_number].leaves = NULL;
    search->paths[search->path_number].only_odd = 0;
    search->paths[search->path_number].grouped_number = 0;
    return (uint32_t)search->path_number++;
}

/* Whether a key is one of the match fields, which are all keys if there are none. */
static int
is_field(const Node *node, const Byte *bytes, const Token *token)
{
    if (node->fields == Py_None) {
        return 1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node->fields); i++) {
        PyObject *field = PyTuple_GET_ITEM(node->fields, i);
        if (PyBytes_GET_SIZE(field) == (Py_ssize_t)token->key_length
            && memcmp(PyBytes_AS_STRING(field), bytes + token->key, token->key_length) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The number that stands for a character beyond ASCII; 256 if there are too many. */
static unsigned
number_wide(Search *search, Py_UCS4 letter)
{
    size_t number = 0;
    while (number < search->wide_number && search->wide[number] != letter) {
        number++;
    }
    if (number == search->wide_number && number < MOST_WIDE) {
        search->wide[search->wide_number++] = letter;
    }
    return FIRST_WIDE + (unsigned)number;
}

/* Whether a character of two bytes, given by the second one after 0xC3, is folded as ASCII is:
   U+00C0 to U+00FF, without the multiplication sign and the sharp s. */
static int
is_latin(Byte second)
{
    return second != 0x97 && second != 0x9F;
}

/* Fold the text of a leaf (`folded`) if it consists of ASCII and Latin letters: without escapes,
   its only white space are blanks. TO_PYTHON for all other text. */
static int
fold(Search *search, Leaf *leaf, const Byte *bytes, Byte **characters)
{
    const Byte *start = bytes + leaf->token->start + 1;
    const Byte *end = start + leaf->token->length - 2;
    Byte *to = *characters;
    while (start < end && *start == ' ') {
        start++;
    }
    while (start < end && end[-1] == ' ') {
        end--;
    }
    for (; start < end; start++) {
        unsigned letter = *start;
        if (letter >= 'A' && letter <= 'Z') {
            letter += 32;
        } else if (letter >= FIRST_WIDE) {
            if (letter != 0xC3 || !is_latin(start[1])) {
                return TO_PYTHON;
            }
            start++;
            letter = number_wide(search, 0xE0u | (*start & 0x1Fu));
            if (letter >= FIRST_WIDE + MOST_WIDE) {
                return TO_PYTHON;
            }
        }
        *to++ = (Byte)letter;
    }
    leaf->text = *characters;
    leaf->length = (uint32_t)(to - *characters);
    leaf->hash = hash_bytes(leaf->text, leaf->length);
    *characters = to;
    return DONE;
}

/* Set the text of a leaf to a string; TO_PYTHON if there are too many characters. */
static int
set_text(Search *search, Leaf *leaf, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Byte *letters;
    if (length > LONGEST_TEXT) {
        return TO_PYTHON;
    }
    letters = TAKE(search, Byte, (size_t)length);
    if (letters == NULL) {
        return FAILED;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(text, i);
        if (letter >= FIRST_WIDE) {
            letter = number_wide(search, letter);
            if (letter >= FIRST_WIDE + MOST_WIDE) {
                return TO_PYTHON;
            }
        }
        letters[i] = (Byte)letter;
    }
    leaf->text = letters;
    leaf->length = (uint32_t)length;
    leaf->hash = hash_bytes(leaf->text, leaf->length);
    return DONE;
}

/* Let Python fold the text of a leaf. */
static int
fold_by_python(Search *search, Leaf *leaf, const Document *document)
{
    PyObject *text = value_of(document, leaf->token), *folded = NULL;
    int done = FAILED;
    if (text != NULL) {
        folded = PyObject_CallOneArg(search->pair->walker->fold, text);
    }
    if (folded != NULL && PyUnicode_Check(folded)) {
        done = set_text(search, leaf, folded);
    } else if (folded != NULL) {
        PyErr_SetString(PyExc_TypeError, "folded text must be a string");
    }
    Py_XDECREF(text);
    Py_XDECREF(folded);
    return done;
}

static void
set_number(Leaf *leaf, double number)
{
    leaf->number = number;
    leaf->hash = hash_real(number);
}

/* `leaves_of` for a flat object; empty values are no leaves. */
static int
add_leaves(Search *search, Item *item, uint32_t owner, const Document *document,
           const Token *object, int side, Leaf **leaves, Byte **characters)
{
    const Byte *bytes = BYTES(document);
    const Token *member = object + 1;
    item->leaves = *leaves;
    for (uint32_t i = 0; i < object->is.count; i++) {
        const Token *token = member;
        Leaf *leaf = *leaves;
        member = &document->tokens[member->next];
        if (token->type == IS_NULL || !is_field(search->node, bytes, token)) {
            continue;
        }
        leaf->token = token;
        leaf->owner = owner;
        leaf->hash = token->hash;
        leaf->number = 0.0;
        leaf->length = 0;
        if (token->type == IS_TEXT) {
            int done = TO_PYTHON;
            if (!(token->flags & ESCAPED)) {
                done = fold(search, leaf, bytes, characters);
            }
            if (done == TO_PYTHON) {
                done = fold_by_python(search, leaf, document);
            }
            if (done != DONE) {
                return done;
            }
            if (leaf->length > LONGEST_TEXT) {
                return TO_PYTHON;
            }
            if (leaf->length == 0) {
                continue;
            }
        } else if (token->type == IS_WHOLE || token->type == IS_REAL) {
            /* As a float, the first integer beyond the limit would equal it. */
            if (token->type == IS_REAL
                    ? fabs(token->is.real) > (double)LARGEST_EXACT
                    : token->is.whole > LARGEST_EXACT || token->is.whole < -LARGEST_EXACT) {
                return TO_PYTHON;
            }
            set_number(leaf, token->type == IS_REAL ? token->is.real : (double)token->is.whole);
        }
        leaf->path = path_of(search, bytes, token, i);
        if (leaf->path == NOWHERE) {
            return TO_PYTHON;
        }
        search->paths[leaf->path].sides |= side;
        (*leaves)++;
    }
    item->number = (uint32_t)(*leaves - item->leaves);
    return DONE;
}

/* Make room for the leaves of the rest; leave items that are not flat objects to Python. */
static int
make_search(Search *search)
{
    const Side *sides[2] = {&search->alignment->expected, &search->alignment->candidate};
    size_t number = 0, leaves = 0, characters[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const Side *side = sides[i];
        number += side->rest_number;
        for (uint32_t j = 0; j < side->rest_number; j++) {
            const Token *item = side->items[side->rest[j]];
            if (item->type != IS_OBJECT || (item->flags & NESTED)) {
                return TO_PYTHON;
            }
            leaves += item->is.count;
            characters[i] += item->length;
        }
    }
    search->character_pairs = (double)characters[0] * (double)characters[1];
    if (search->character_pairs > MOST_CHARACTER_PAIRS) {
        return TO_PYTHON;
    }
    search->items = TAKE(search, Item, number);
    search->leaves = TAKE(search, Leaf, leaves);
    search->graded = TAKE(search, uint32_t, leaves);
    search->characters = TAKE(search, Byte, characters[0] + characters[1]);
    return search->items == NULL || search->leaves == NULL || search->graded == NULL
                   || search->characters == NULL
               ? FAILED
               : DONE;
}

static int
read_leaves(Search *search)
{
    const Side *sides[2] = {&search->alignment->expected, &search->alignment->candidate};
    Item *item = search->items;
    Leaf *leaves = search->leaves;
    Byte *characters = search->characters;
    for (int i = 0; i < 2; i++) {
        const Side *side = sides[i];
        for (uint32_t j = 0; j < side->rest_number; j++) {
            const Token *object = side->items[side->rest[j]];
            int done =
                add_leaves(search, item, j, side->document, object, 1 + i, &leaves, &characters);
            if (done != DONE) {
                return done;
            }
            item++;
        }
    }
    return DONE;
}

/* The value of a leaf that is no boolean. */
static PyObject *
leaf_value(const Search *search, const Leaf *leaf)
{
    Py_UCS4 *letters;
    PyObject *text;
    if (leaf->token->type == IS_WHOLE) {
        return PyLong_FromLongLong(leaf->token->is.whole);
    }
    if (leaf->token->type == IS_REAL) {
        return PyFloat_FromDouble(leaf->token->is.real);
    }
    letters = PyMem_New(Py_UCS4, leaf->length);
    if (letters == NULL) {
        return PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < leaf->length; i++) {
        letters[i] =
            leaf->text[i] < FIRST_WIDE ? leaf->text[i] : search->wide[leaf->text[i] - FIRST_WIDE];
    }
    text = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, letters, leaf->length);
    PyMem_Free(letters);
    return text;
}

static int
by_size(const void *one, const void *other)
{
    double left = (*(Leaf *const *)one)->number, right = (*(Leaf *const *)other)->number;
    return (left > right) - (left < right);
}

/* Whether two blanks or unprintable characters are in a text, or characters beyond Latin letters,
   so that `unified` may change it. */
static int
is_odd(const Search *search, const Leaf *leaf)
{
    for (uint32_t i = 0; i < leaf->length; i++) {
        Byte letter = leaf->text[i];
        if (letter >= FIRST_WIDE) {
            Py_UCS4 wide = search->wide[letter - FIRST_WIDE];
            if (wide < 0xE0 || wide > 0xFF) {
                return 1;
            }
        } else if (letter == 0x7F || letter < ' '
                   || (i > 0 && letter == ' ' && leaf->text[i - 1] == ' ')) {
            return 1;
        }
    }
    return 0;
}

static int
may_be_date(const Leaf *leaf)
{
    return leaf->length > 4 && leaf->text[4] == '-';
}

/* `Fuzzy.item_leaves` for text that it does not change: 1, or 0 to ask it, with `only_odd` about
   odd text only, because it treats texts one by one unless one may be a date. */
static int
are_normalized(const Search *search, size_t path, int *only_odd)
{
    int normalized = 1;
    *only_odd = 1;
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; k < item->number; k++) {
            const Leaf *leaf = &item->leaves[k];
            if (leaf->path == path) {
                *only_odd &= leaf->token->type == IS_TEXT && !may_be_date(leaf);
                normalized &= *only_odd && !is_odd(search, leaf);
            }
        }
    }
    return normalized;
}

/* Whether a rule with a tolerance matches two numbers (`Tolerance.admits`); negative for an
   error. The comparator decides if floats are too close to the limit. */
static int
is_within_tolerance(const Search *search, const Leaf *expected, const Leaf *candidate)
{
    const Node *rule = search->paths[expected->path].rule;
    double size = fabs(expected->number), gap = fabs(expected->number - candidate->number);
    double limit = rule->relative * size, slack;
    PyObject *value, *other, *found = NULL;
    int matched = -1;
    if (gap == 0.0) {
        return 1;
    }
    limit = size == 0.0 ? rule->at_zero : limit > rule->absolute ? limit : rule->absolute;
    slack = (size + fabs(candidate->number) + limit) * SLACK + TINY;
    if (gap + slack < limit || gap > limit + slack) {
        return gap < limit;
    }
    value = leaf_value(search, expected);
    other = value == NULL ? NULL : leaf_value(search, candidate);
    if (other != NULL) {
        found = PyObject_CallFunctionObjArgs(rule->rule_compare, value, other, NULL);
    }
    if (found != NULL && PyTuple_Check(found) && PyTuple_GET_SIZE(found) > 0) {
        matched = PyObject_IsTrue(PyTuple_GET_ITEM(found, 0)); /* Comparison.matched */
    } else if (found != NULL) {
        PyErr_SetString(PyExc_TypeError, "a comparator must return a comparison");
    }
    Py_XDECREF(value);
    Py_XDECREF(other);
    Py_XDECREF(found);
    return matched;
}

/* Replace a number that is in the group of others (`Tolerance.groups`): 1, 0 if it is close to some
   of them only, or -1 for an error. The leaves of the group are in order, and there are `size`. */
static int
join_group(const Search *search, Leaf **group, size_t *size, Leaf *leaf)
{
    int near = 0, both = 1;
    for (size_t i = 0; i < *size; i++) {
        int one = is_within_tolerance(search, group[i], leaf);
        int other = one < 0 ? one : is_within_tolerance(search, leaf, group[i]);
        if (other < 0) {
            return -1;
        }
        near |= one | other;
        both &= one & other;
    }
    if (near && !both) {
        return 0;
    }
    *size = both ? *size : 0;
    group[(*size)++] = leaf;
    return 1;
}

/* `NumericTolerance.item_leaves`: give numbers within the tolerance of each other the same value; 0
   to ask it, and -1 for an error. */
static int
group_numbers(Search *search, size_t path)
{
    const Node *rule = search->paths[path].rule;
    Leaf **leaves = TAKE(search, Leaf *, search->number);
    Leaf **group = TAKE(search, Leaf *, search->number);
    size_t count = 0, size = 0;
    double limit, *firsts;
    int distant = 1, joined = 1;
    if (leaves == NULL || group == NULL) {
        return -1;
    }
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; k < item->number; k++) {
            Leaf *leaf = &item->leaves[k];
            if (leaf->path == path) {
                if (leaf->token->type != IS_WHOLE && leaf->token->type != IS_REAL) {
                    return 0;
                }
                leaves[count++] = leaf;
            }
        }
    }
    if (count == 0) {
        return 1;
    }
    qsort(leaves, count, sizeof *leaves, by_size);
    limit = fmax(1.0, fmax(fabs(leaves[0]->number), fabs(leaves[count - 1]->number)));
    limit = fmax(fmax(rule->relative * limit, rule->absolute), TINY) * LIMIT_MARGIN;
    for (size_t i = 1; distant && i < count; i++) {
        double gap = leaves[i]->number - leaves[i - 1]->number;
        distant = gap == 0.0 || gap > limit;
    }
    if (distant) {
        return 1;
    }
    firsts = TAKE(search, double, count);
    if (firsts == NULL) {
        return -1;
    }
    for (size_t i = 0; joined > 0 && i < count; i++) {
        if (i == 0 || leaves[i]->number != leaves[i - 1]->number) {
            joined = join_group(search, group, &size, leaves[i]);
        }
        firsts[i] = group[0]->number;
    }
    if (joined == 0) {
        search->by_rules = 1;
    }
    search->paths[path].grouped = leaves;
    search->paths[path].firsts = firsts;
    search->paths[path].grouped_number = count;
    return joined < 0 ? -1 : 1;
}

/* Whether a leaf is at a path, and odd if only such are wanted. */
static int
is_asked(const Search *search, const Leaf *leaf, size_t path, int only_odd)
{
    return leaf->path == path && (!only_odd || is_odd(search, leaf));
}

/* The values of all leaves at a path, or of the odd ones; NULL without an error if one is a
   boolean. */
static PyObject *
path_values(const Search *search, size_t path, int only_odd)
{
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values != NULL && i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; values != NULL && k < item->number; k++) {
            const Leaf *leaf = &item->leaves[k];
            PyObject *value;
            if (!is_asked(search, leaf, path, only_odd)) {
                continue;
            }
            value = leaf->token->type < IS_WHOLE ? NULL : leaf_value(search, leaf);
            if (value == NULL || PyList_Append(values, value) < 0) {
                Py_CLEAR(values);
            }
            Py_XDECREF(value);
        }
    }
    return values;
}

/* Ask the rule of a path whether its leaves are as similar as by default, perhaps after it has
   replaced them; if not, all rules are applied to pairs of leaves. */
static int
ask_rule(Search *search, size_t place)
{
    Path *path = &search->paths[place];
    PyObject *values = path_values(search, place, path->only_odd), *told;
    if (values == NULL) {
        return PyErr_Occurred() ? FAILED : TO_PYTHON;
    }
    told = PyObject_CallOneArg(path->rule->leaf_rule, values);
    if (told == Py_None) {
        search->by_rules = 1;
    } else if (told != NULL && told != values) {
        path->leaves = PySequence_List(told);
        if (path->leaves != NULL && PyList_GET_SIZE(path->leaves) != PyList_GET_SIZE(values)) {
            PyErr_SetString(PyExc_ValueError, "a rule must keep the number of leaves");
            Py_CLEAR(told);
        }
    }
    Py_DECREF(values);
    Py_XDECREF(told);
    return told == NULL || PyErr_Occurred() ? FAILED : DONE;
}

/* Replace the leaves at a path as its rule says. */
static int
replace_leaves(Search *search, size_t place)
{
    PyObject *leaves = search->paths[place].leaves;
    Py_ssize_t next = 0;
    int done = DONE;
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; done == DONE && k < item->number; k++) {
            Leaf *leaf = &item->leaves[k];
            PyObject *value;
            if (!is_asked(search, leaf, place, search->paths[place].only_odd)) {
                continue;
            }
            value = PyList_GET_ITEM(leaves, next++);
            if (leaf->token->type == IS_TEXT && PyUnicode_Check(value)) {
                done = set_text(search, leaf, value);
            } else if (leaf->token->type != IS_TEXT
                       && (PyFloat_CheckExact(value) || PyLong_CheckExact(value))) {
                double number = PyFloat_AsDouble(value);
                if (number == -1.0 && PyErr_Occurred()) {
                    return FAILED;
                }
                set_number(leaf, number);
            } else {
                done = TO_PYTHON; /* such as a day */
            }
        }
    }
    return done;
}

/* Whether the leaves at a path are such that their rule can be applied here. */
static int
can_apply(const Search *search, size_t place)
{
    const Path *path = &search->paths[place];
    for (size_t i = 0; i < search->number; i++) {
        const Item *item = &search->items[i];
        for (uint32_t k = 0; k < item->number; k++) {
            const Leaf *leaf = &item->leaves[k];
            int type = leaf->token->type;
            if (leaf->path != place) {
                continue;
            }
            if (path->rule->keeps_text
                    ? type != IS_TEXT || (path->leaves == NULL && is_odd(search, leaf))
                          || may_be_date(leaf)
                    : path->rule->absolute < 0.0 || (type != IS_WHOLE && type != IS_REAL)) {
                return 0;
            }
        }
    }
    return 1;
}

/* Whether `edges_of_many` would certainly not refuse to apply the rules to all pairs. */
static int
is_within_work(const Search *search)
{
    double pairs = (double)search->alignment->expected.rest_number
                   * (double)search->alignment->candidate.rest_number;
    double blocks = pairs / (MOST_SIMILARITIES / 2) + 1.0, work = search->character_pairs;
    for (size_t i = 0; i < search->path_number; i++) {
        work += COLUMN_COST * blocks + LEAF_COST * pairs;
        work += search->paths[i].rule != NULL ? CALL_COST * pairs : 0.0;
    }
    return work < MOST_WORK;
}

/* `apply_rules`: make leaves as similar by default as their rules say, or else use the rules. */
static int
check_rules(Search *search)
{
    int done = DONE;
    for (size_t i = 0; done == DONE && i < search->path_number; i++) {
        Path *path = &search->paths[i];
        Node *child;
        if (path->sides != 3) {
            continue;
        }
        child = child_of(search->pair->walker, search->item_node, path->bytes, path->token, i);
        if (child == NULL) {
            return FAILED;
        }
        if (child->leaf_rule == Py_None) {
            continue;
        }
        if (child->leaf_rule == Py_False) {
            return TO_PYTHON;
        }
        path->rule = child;
        if (child->keeps_text && are_normalized(search, i, &path->only_odd)) {
            continue;
        }
        if (child->absolute >= 0.0) {
            int grouped = group_numbers(search, i);
            if (grouped < 0) {
                return FAILED;
            }
            if (grouped) {
                continue;
            }
        }
        done = ask_rule(search, i);
    }
    if (search->by_rules && done == DONE && !is_within_work(search)) {
        return TO_PYTHON;
    }
    for (size_t i = 0; done == DONE && i < search->path_number; i++) {
        const Path *path = &search->paths[i];
        if (search->by_rules && path->rule != NULL && !can_apply(search, i)) {
            return TO_PYTHON;
        }
        for (size_t k = 0; !search->by_rules && k < path->grouped_number; k++) {
            set_number(path->grouped[k], path->firsts[k]);
        }
        if (path->leaves != NULL && (!search->by_rules || path->rule->keeps_text)) {
            done = replace_leaves(search, i);
        }
    }
    return done;
}

/* Whether an equal item has a leaf at a path: 1, 0, or -1 if that is left to Python. */
static int
has_leaf(const Document *document, const Token *object, const Path *path)
{
    const Byte *bytes = BYTES(document);
    const Token *member = object + 1;
    if (object->type != IS_OBJECT) {
        return 0;
    }
    for (uint32_t i = 0; i < object->is.count; i++) {
        if (is_same_key(bytes, member, path->bytes, path->token)) {
            int presence = presence_of(member);
            return presence == UNKNOWN || member->type >= IS_LIST ? -1 : presence == VALUE;
        }
        member = &document->tokens[member->next];
    }
    return 0;
}

/* `drop_unshared`: drop the leaves at paths where only one of the two lists has any. */
static int
drop_unshared(Search *search)
{
    const Side *side = &search->alignment->expected;
    int dropped = 0;
    for (size_t i = 0; i < search->path_number; i++) {
        Path *path = &search->paths[i];
        for (uint32_t j = 0; path->sides != 3 && j < side->number; j++) {
            if (side->partners[j] != NOWHERE) {
                int has = has_leaf(side->document, side->items[j], path);
                if (has < 0) {
                    return TO_PYTHON;
                }
                path->sides = has ? 3 : path->sides;
            }
        }
        dropped |= path->sides != 3;
    }
    for (size_t j = 0; dropped && j < search->number; j++) {
        Item *item = &search->items[j];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < item->number; k++) {
            if (search->paths[item->leaves[k].path].sides == 3) {
                item->leaves[kept++] = item->leaves[k];
            }
        }
        item->number = kept;
    }
    return DONE;
}

/* Whether a path comes before another by its `repr`, in which a quote follows the key. */
static int
comes_before(const Path *one, const Path *other)
{
    uint32_t length = one->token->key_length, other_length = other->token->key_length;
    const Byte *key = one->bytes + one->token->key, *other_key = other->bytes + other->token->key;
    for (uint32_t i = 0;; i++) {
        Byte here = i < length ? key[i] : '\'', there = i < other_length ? other_key[i] : '\'';
        if (here != there || i >= length) {
            return here < there;
        }
    }
}

/* Whether a leaf can be similar to another without being equal. */
static int
is_graded(const Search *search, const Leaf *leaf)
{
    return leaf->token->type == IS_TEXT
           || (search->by_rules && search->paths[leaf->path].rule != NULL);
}

/* `_graded_paths`: such leaves of each item, in the order in which they are summed. */
static int
list_graded(Search *search)
{
    uint32_t *graded = search->graded;
    for (size_t i = 0; i < search->path_number; i++) {
        const Path *path = &search->paths[i];
        for (uint32_t j = 0; path->sides == 3 && j < path->token->key_length; j++) {
            Byte here = path->bytes[path->token->key + j];
            if (here == '\'' || here >= 0x7F) {
                return TO_PYTHON; /* its `repr` may have other quotes, or an escape */
            }
        }
    }
    for (size_t i = 0; i < search->number; i++) {
        Item *item = &search->items[i];
        item->graded = graded;
        item->graded_number = 0;
        for (uint32_t k = 0; k < item->number; k++) {
            uint32_t at = item->graded_number;
            if (!is_graded(search, &item->leaves[k])) {
                continue;
            }
            for (; at > 0
                   && comes_before(&search->paths[item->leaves[k].path],
                                   &search->paths[item->leaves[graded[at - 1]].path]);
                 at--) {
                graded[at] = graded[at - 1];
            }
            graded[at] = k;
            item->graded_number++;
        }
        graded += item->graded_number;
    }
    return DONE;
}

/* `is_iso_date`. */
static int
is_iso_date(const Leaf *leaf)
{
    const Byte *text = leaf->text;
    return leaf->length >= 10 && is_digit(text[0]) && is_digit(text[1]) && is_digit(text[2])
           && is_digit(text[3]) && text[4] == '-' && is_digit(text[5]) && is_digit(text[6])
           && text[7] == '-' && is_digit(text[8]) && is_digit(text[9])
           && (leaf->length == 10 || text[10] == 't' || text[10] == ' ');
}

/* The edit distance of a pattern of at most 64 letters to a text (Myers, Hyyrö), or a number above
   `most` if it is larger than that. */
static uint32_t
pattern_distance(const uint64_t *places, uint32_t length, const Byte *text, uint32_t text_length,
                 uint32_t most)
{
    uint64_t plus = ~(uint64_t)0 << (WORD - length), minus = 0;
    uint32_t distance = length;
    for (uint32_t i = 0; i < text_length; i++) {
        uint64_t equal = places[text[i]], vertical = equal | minus;
        uint64_t horizontal = (((equal & plus) + plus) ^ plus) | equal;
        uint64_t up = minus | ~(horizontal | plus), down = plus & horizontal;
        distance += (uint32_t)(up >> (WORD - 1));
        distance -= (uint32_t)(down >> (WORD - 1));
        if (distance > most + (text_length - 1 - i)) {
            return most + 1; /* each further letter lowers it by at most 1 */
        }
        up = (up << 1) | 1;
        down <<= 1;
        plus = down | ~(vertical | up);
        minus = up & vertical;
    }
    return distance;
}

/* Prepare the pattern of a leaf that has at most 64 letters. */
static void
set_pattern(Pattern *pattern, const Leaf *leaf)
{
    if (pattern->leaf == leaf) {
        return;
    }
    if (pattern->leaf == NULL) {
        memset(pattern->places, 0, sizeof pattern->places);
    }
    for (uint32_t i = 0; pattern->leaf != NULL && i < pattern->leaf->length; i++) {
        pattern->places[pattern->leaf->text[i]] = 0;
    }
    pattern->leaf = leaf;
    for (uint32_t i = 0; i < leaf->length; i++) {
        pattern->places[leaf->text[i]] |= (uint64_t)1 << (WORD - leaf->length + i);
    }
}

/* `text_similarity` of two different strings, or with a rule `levenshtein_similarity`. It is less
   than `least` if that is certain, and below -1 for an error. */
static double
text_similarity(const Search *search, const Leaf *one, const Leaf *other, Pattern *pattern,
                double least)
{
    const Leaf *shorter = one->length <= other->length ? one : other;
    const Leaf *longer = shorter == one ? other : one;
    PyObject *text, *other_text, *told = NULL;
    double similarity = -2.0;
    if (!(search->by_rules && search->paths[one->path].rule != NULL) && is_iso_date(one)
        && is_iso_date(other)) {
        return 0.0;
    }
    if (shorter->length == 0) {
        return 0.0;
    }
    if (shorter->length <= WORD) {
        double limit = (1.0 - least) * (double)longer->length + 1.0; /* rounded up */
        uint32_t most = limit < 0.0                      ? 0
                        : limit < (double)longer->length ? (uint32_t)limit
                                                         : longer->length;
        uint32_t distance;
        if (one->length <= WORD) {
            shorter = one;
        }
        set_pattern(pattern, shorter);
        other = shorter == one ? other : one;
        distance =
            pattern_distance(pattern->places, shorter->length, other->text, other->length, most);
        return 1.0 - (double)distance / (double)longer->length;
    }
    text = leaf_value(search, one);
    other_text = text == NULL ? NULL : leaf_value(search, other);
    if (other_text != NULL) {
        told =
            PyObject_CallFunctionObjArgs(search->pair->walker->similarity, text, other_text, NULL);
    }
    if (told != NULL) {
        similarity = PyFloat_AsDouble(told);
        similarity = similarity == -1.0 && PyErr_Occurred() ? -2.0 : similarity;
    }
    Py_XDECREF(text);
    Py_XDECREF(other_text);
    Py_XDECREF(told);
    return similarity;
}

static int
is_equal_leaf(const Leaf *one, const Leaf *other)
{
    int type = one->token->type, other_type = other->token->type;
    if (one->hash != other->hash) {
        return 0;
    }
    if (type == IS_TEXT || other_type == IS_TEXT) {
        return type == other_type && one->length == other->length
               && memcmp(one->text, other->text, one->length) == 0;
    }
    if (type < IS_WHOLE || other_type < IS_WHOLE) {
        return type == other_type;
    }
    return one->number == other->number;
}

/* The leaf of an item at a path, or NULL; `guess` is its probable place. */
static const Leaf *
leaf_at(const Item *item, uint32_t path, uint32_t guess)
{
    if (guess < item->number && item->leaves[guess].path == path) {
        return &item->leaves[guess];
    }
    for (uint32_t i = 0; i < item->number; i++) {
        if (item->leaves[i].path == path) {
            return &item->leaves[i];
        }
    }
    return NULL;
}

#define MOST_LETTERS 255

/* Count the letters of a text in each class. A text without letters has one as well, so that two
   such texts have all in common. */
static void
count_letters(const Leaf *leaf, uint32_t *letters)
{
    memset(letters, 0, CLASSES * sizeof *letters);
    letters[0] = leaf->length == 0;
    for (uint32_t i = 0; i < leaf->length; i++) {
        letters[leaf->text[i] & (CLASSES - 1)]++;
    }
}

/* The share of one letter in a text. */
static float
letter_share(const Leaf *leaf)
{
    return leaf->length > 0 ? 1.0F / (float)leaf->length : 1.0F;
}

static inline Byte
smaller(Byte one, Byte other)
{
    return one < other ? one : other;
}

/* Count the letters that a text of at most MOST_LETTERS has in common with those of the candidate
   items, four classes at a time. */
static void
count_common(const Column *column, const uint32_t *letters, uint32_t others, Byte *common)
{
    const Byte *rows[CLASSES + 3];
    Byte most[CLASSES + 3] = {0};
    uint32_t number = 0;
    for (size_t k = 0; k < CLASSES; k++) {
        if (letters[k] > 0) {
            rows[number] = column->letters + k * others;
            most[number++] = (Byte)letters[k];
        }
    }
    for (uint32_t k = number; k < number + 3; k++) {
        rows[k] = column->letters; /* of which no letters count */
    }
    memset(common, 0, others);
    for (uint32_t k = 0; k < number; k += 4) {
        const Byte *first = rows[k], *second = rows[k + 1], *third = rows[k + 2];
        const Byte *fourth = rows[k + 3];
        Byte one = most[k], two = most[k + 1], three = most[k + 2], four = most[k + 3];
        for (uint32_t j = 0; j < others; j++) {
            common[j] = (Byte)(common[j] + smaller(first[j], one) + smaller(second[j], two)
                               + smaller(third[j], three) + smaller(fourth[j], four));
        }
    }
}

/* The largest possible number of letters that a longer text has in common with that of a candidate
   item, some of whose letters may occur more often than they are counted. */
static uint32_t
most_common(const Column *column, const uint32_t *letters, uint32_t others, uint32_t place)
{
    uint32_t common = 0;
    for (size_t k = 0; k < CLASSES; k++) {
        uint32_t times = column->letters[k * others + place];
        common += times < MOST_LETTERS && times < letters[k] ? times : letters[k];
    }
    return common;
}

/* Set the upper bounds of the similarity of a text with those of the candidate items, which is at
   most the number of letters in common, divided by the length of the longer text. The loops over
   candidate items are such that compilers use vectors. */
static void
set_bounds(const Search *search, const Column *column, const Leaf *leaf, uint32_t others,
           float *bounds)
{
    const float *shares = column->shares;
    float share = letter_share(leaf);
    uint32_t letters[CLASSES];
    count_letters(leaf, letters);
    if (leaf->length > MOST_LETTERS) {
        for (uint32_t j = 0; j < others; j++) {
            bounds[j] = (float)most_common(column, letters, others, j)
                        * (shares[j] < share ? shares[j] : share);
        }
        return;
    }
    count_common(column, letters, others, search->common);
    for (uint32_t j = 0; j < others; j++) {
        bounds[j] = (float)search->common[j] * (shares[j] < share ? shares[j] : share);
    }
}

/* Number the different texts of the items of one side at each path. */
static int
number_texts(Search *search, Item *items, uint32_t number, int is_candidate)
{
    size_t texts = 0, size = 16;
    const Leaf **table;
    for (uint32_t i = 0; i < number; i++) {
        texts += items[i].graded_number;
    }
    while (size < 2 * texts) {
        size *= 2;
    }
    table = TAKE(search, const Leaf *, size);
    if (table == NULL) {
        return FAILED;
    }
    memset(table, 0, size * sizeof *table);
    for (uint32_t i = 0; i < number; i++) {
        for (uint32_t k = 0; k < items[i].graded_number; k++) {
            Leaf *leaf = &items[i].leaves[items[i].graded[k]];
            Column *column = &search->columns[leaf->path];
            size_t at = (size_t)mixed(leaf->hash, leaf->path) & (size - 1);
            if (leaf->token->type != IS_TEXT) {
                continue;
            }
            while (table[at] != NULL
                   && !(table[at]->path == leaf->path && is_equal_leaf(table[at], leaf))) {
                at = (at + 1) & (size - 1);
            }
            if (table[at] != NULL) {
                leaf->text_number = table[at]->text_number;
                continue;
            }
            leaf->text_number = is_candidate ? column->number++ : column->expected_number++;
            column->characters += leaf->length;
            table[at] = leaf;
        }
    }
    return DONE;
}

/* Prepare a column of texts that both sides have. If texts repeat, what is known about their
   similarity is kept; `budget` is the number of bounds for which there is room. */
static int
make_column(Search *search, Column *column, uint32_t number, uint32_t others, size_t *budget)
{
    size_t bounds = (size_t)column->expected_number * others;
    size_t pairs = (size_t)column->expected_number * column->number;
    column->partners = TAKE(search, const Leaf *, others);
    column->letters = TAKE(search, Byte, CLASSES * (size_t)others);
    column->shares = TAKE(search, float, others);
    if (2 * pairs <= (size_t)number * others && bounds <= *budget) {
        *budget -= bounds;
        column->distances = TAKE(search, uint16_t, pairs);
        column->has_bounds = TAKE(search, uint8_t, column->expected_number);
        if (column->distances == NULL || column->has_bounds == NULL) {
            return FAILED;
        }
        memset(column->distances, 0, pairs * sizeof *column->distances);
        memset(column->has_bounds, 0, column->expected_number);
    } else {
        bounds = others;
    }
    column->bounds = TAKE(search, float, bounds);
    if (column->partners == NULL || column->letters == NULL || column->shares == NULL
        || column->bounds == NULL) {
        return FAILED;
    }
    memset(column->letters, 0, CLASSES * (size_t)others);
    for (uint32_t j = 0; j < others; j++) {
        column->partners[j] = NULL;
        column->shares[j] = 0.0F;
    }
    return DONE;
}

static int
make_columns(Search *search, uint32_t number, uint32_t others)
{
    Item *candidates = &search->items[number];
    size_t budget = MOST_BOUNDS;
    search->columns = TAKE(search, Column, search->path_number);
    search->order = TAKE(search, uint32_t, search->path_number);
    search->common = TAKE(search, Byte, others);
    search->order_number = 0;
    if (search->columns == NULL || search->order == NULL || search->common == NULL) {
        return FAILED;
    }
    memset(search->columns, 0, search->path_number * sizeof *search->columns);
    if (number_texts(search, search->items, number, 0) != DONE
        || number_texts(search, candidates, others, 1) != DONE) {
        return FAILED;
    }
    for (uint32_t path = 0; path < search->path_number; path++) {
        Column *column = &search->columns[path];
        uint32_t at = search->order_number;
        if (column->number == 0 || column->expected_number == 0) {
            continue;
        }
        if (make_column(search, column, number, others, &budget) != DONE) {
            return FAILED;
        }
        column->characters /= column->number + column->expected_number;
        for (; at > 0 && search->columns[search->order[at - 1]].characters > column->characters;
             at--) {
            search->order[at] = search->order[at - 1];
        }
        search->order[at] = path;
        search->order_number++;
    }
    for (uint32_t j = 0; j < others; j++) {
        for (uint32_t k = 0; k < candidates[j].graded_number; k++) {
            const Leaf *leaf = &candidates[j].leaves[candidates[j].graded[k]];
            const Column *column = &search->columns[leaf->path];
            if (leaf->token->type == IS_TEXT && column->partners != NULL) {
                uint32_t letters[CLASSES];
                column->partners[j] = leaf;
                column->shares[j] = letter_share(leaf);
                count_letters(leaf, letters);
                for (size_t i = 0; i < CLASSES; i++) {
                    column->letters[i * others + j] =
                        (Byte)(letters[i] < MOST_LETTERS ? letters[i] : MOST_LETTERS);
                }
            }
        }
    }
    return DONE;
}

/* The upper bounds of the similarity of a text with those of the candidate items. */
static float *
bounds_of(const Search *search, const Column *column, const Leaf *leaf, uint32_t others)
{
    float *row = column->bounds;
    if (column->has_bounds != NULL) {
        row += (size_t)leaf->text_number * others;
        if (column->has_bounds[leaf->text_number]) {
            return row;
        }
        column->has_bounds[leaf->text_number] = 1;
    }
    set_bounds(search, column, leaf, others, row);
    return row;
}

/* Enter the candidate leaves that are not graded in an index by their values. */
static int
index_leaves(Search *search, const Item *candidates, uint32_t others)
{
    size_t leaves, size = 16;
    const Leaf *begin = candidates[0].leaves;
    leaves = (size_t)(candidates[others - 1].leaves + candidates[others - 1].number - begin);
    while (size < leaves) {
        size *= 2;
    }
    search->first = TAKE(search, const Leaf *, size);
    search->next = TAKE(search, const Leaf *, leaves);
    if (search->first == NULL || search->next == NULL) {
        return FAILED;
    }
    search->mask = size - 1;
    search->is_indexed = 0;
    memset(search->first, 0, size * sizeof *search->first);
    for (uint32_t j = 0; j < others; j++) {
        for (uint32_t k = 0; k < candidates[j].number; k++) {
            const Leaf *leaf = &candidates[j].leaves[k], **first;
            if (!is_graded(search, leaf)) {
                search->is_indexed = 1;
                first = &search->first[mixed(leaf->hash, leaf->path) & search->mask];
                search->next[leaf - begin] = *first;
                *first = leaf;
            }
        }
    }
    return DONE;
}

/* The similarity of the text at hand and that of a candidate item as by `text_similarity`; known
   ones are remembered. */
static double
known_similarity(const Search *search, const Column *column, uint32_t place, Pattern *pattern,
                 double least)
{
    const Leaf *leaf = column->own, *partner = column->partners[place];
    double longer = leaf->length > partner->length ? leaf->length : partner->length, similarity;
    float *bound = column->own_bounds + place;
    uint16_t *known = column->distances;
    if (known != NULL) {
        known += (size_t)leaf->text_number * column->number + partner->text_number;
        if (*known > 0) {
            similarity = 1.0 - (double)(*known - 1) / longer;
            *bound = (float)similarity;
            return similarity;
        }
    }
    similarity =
        is_equal_leaf(leaf, partner) ? 1.0 : text_similarity(search, leaf, partner, pattern, least);
    if (similarity < -1.0) {
        return similarity;
    }
    if (known != NULL && similarity >= least) {
        *known = (uint16_t)((1.0 - similarity) * longer + 1.5);
    }
    *bound = (float)similarity;
    return similarity;
}

#define ROUNDING 1e-5 /* more than that of a float bound, for each leaf */

/* `_weight`: the mean similarity over the leaves of both items; -1 for items that cannot reach the
   share. */
static int
find_weight(const Search *search, const Item *item, const Item *other, uint32_t place, double share,
            double *weight)
{
    double leaves = bit_count(item->paths | other->paths), total = 0.0, spare;
    double similar[MOST_PATHS];
    leaves = leaves > 0.0 ? leaves : 1.0;
    spare = (double)search->settled[place] - (share - ROUNDING) * leaves;
    *weight = -1.0;
    for (uint32_t i = 0; i < search->order_number; i++) {
        const Column *column = &search->columns[search->order[i]];
        if (column->own != NULL) {
            spare += (double)column->own_bounds[place];
        }
    }
    for (uint32_t i = 0; spare >= 0.0 && i < search->order_number; i++) {
        uint32_t path = search->order[i];
        const Column *column = &search->columns[path];
        Pattern *pattern = &search->patterns[i < MOST_PATTERNS ? i : MOST_PATTERNS - 1];
        double bound;
        if (column->own == NULL || column->partners[place] == NULL) {
            continue;
        }
        bound = (double)column->own_bounds[place];
        similar[path] = known_similarity(search, column, place, pattern, bound - spare);
        if (similar[path] < -1.0) {
            return FAILED;
        }
        spare -= bound - similar[path];
    }
    for (uint32_t i = 0; spare >= 0.0 && i < item->graded_number; i++) {
        const Leaf *leaf = &item->leaves[item->graded[i]];
        const Column *column = &search->columns[leaf->path];
        if (leaf->token->type != IS_TEXT) {
            const Leaf *partner = leaf_at(other, leaf->path, item->graded[i]);
            int within = partner == NULL ? 0 : is_within_tolerance(search, leaf, partner);
            if (within < 0) {
                return FAILED;
            }
            total += within;
        } else if (column->partners != NULL && column->partners[place] != NULL) {
            total += similar[leaf->path];
        }
    }
    if (spare >= 0.0) {
        *weight =
            (total + (double)search->equal[place]) / leaves * WEIGHT_UNIT + TO_WHOLE - TO_WHOLE;
    }
    return DONE;
}

static int
add_edge(Search *search, double weight, uint32_t place, uint32_t other)
{
    Edge edge = {weight, place, other};
    if (search->edge_number == search->edge_capacity) {
        size_t capacity = search->edge_capacity ? 2 * search->edge_capacity : 16;
        Edge *edges = PyMem_Realloc(search->edges, capacity * sizeof *edges);
        if (edges == NULL) {
            PyErr_NoMemory();
            return FAILED;
        }
        search->edges = edges;
        search->edge_capacity = capacity;
    }
    search->edges[search->edge_number++] = edge;
    return DONE;
}

static int
by_number(const void *one, const void *other)
{
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return (left > right) - (left < right);
}

/* Count the equal leaves of an item with the candidate items, and list those that have any. */
static void
count_equal(Search *search, const Item *item, const Leaf *begin)
{
    for (uint32_t k = 0; k < item->number; k++) {
        const Leaf *leaf = &item->leaves[k], *other;
        if (is_graded(search, leaf)) {
            continue;
        }
        other = search->first[mixed(leaf->hash, leaf->path) & search->mask];
        for (; other != NULL; other = search->next[other - begin]) {
            if (other->path == leaf->path && is_equal_leaf(leaf, other)) {
                if (search->equal[other->owner] == 0.0F) {
                    search->near[search->near_number++] = other->owner;
                }
                search->equal[other->owner] += 1.0F;
            }
        }
    }
}

/* Add the leaves that a rule with a tolerance matches to what is settled. */
static int
settle_rules(Search *search, const Item *item, const Item *candidates, uint32_t others)
{
    memcpy(search->settled, search->equal, others * sizeof *search->settled);
    for (uint32_t k = 0; k < item->graded_number; k++) {
        uint32_t guess = item->graded[k];
        const Leaf *leaf = &item->leaves[guess];
        for (uint32_t j = 0; leaf->token->type != IS_TEXT && j < others; j++) {
            const Leaf *partner = leaf_at(&candidates[j], leaf->path, guess);
            int within = partner == NULL ? 0 : is_within_tolerance(search, leaf, partner);
            if (within < 0) {
                return FAILED;
            }
            search->settled[j] += (float)within;
        }
    }
    return DONE;
}

/* Set the texts of the expected item at hand; return the last column that has one, or NULL. */
static const Column *
set_own_texts(Search *search, const Item *item, uint32_t others)
{
    const Column *last = NULL;
    for (uint32_t i = 0; i < search->order_number; i++) {
        search->columns[search->order[i]].own = NULL;
    }
    for (uint32_t k = 0; k < item->graded_number; k++) {
        const Leaf *leaf = &item->leaves[item->graded[k]];
        Column *column = &search->columns[leaf->path];
        if (leaf->token->type == IS_TEXT && column->partners != NULL) {
            column->own = leaf;
            column->own_bounds = bounds_of(search, column, leaf, others);
            last = column;
        }
    }
    return last;
}

/* Keep those of the candidate items in `near` that can reach the share together with an item. */
static void
keep_near(Search *search, const Item *item, const Item *candidates, double share)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < search->near_number; i++) {
        uint32_t place = search->near[i];
        int leaves = bit_count(item->paths | candidates[place].paths);
        double most = (double)search->settled[place];
        for (uint32_t k = 0; k < search->order_number; k++) {
            const Column *column = &search->columns[search->order[k]];
            if (column->own != NULL) {
                most += (double)column->own_bounds[place];
            }
        }
        if (most >= (share - ROUNDING) * leaves) {
            search->near[kept++] = place;
        }
    }
    search->near_number = kept;
}

/* List all candidate items whose texts are similar enough for the leaves of an item alone, which
   excludes most of them; `last` is the last column with one of its texts. */
static void
list_near(Search *search, const Item *item, uint32_t others, const Column *last, double share)
{
    float least = (float)((share - ROUNDING) * item->number);
    const float *settled = search->settled, *row = last->own_bounds;
    uint32_t *near = search->near, kept = 0;
    Byte *is_near = search->is_near;
    uint64_t some;
    for (uint32_t k = 0; k < search->order_number; k++) {
        const Column *column = &search->columns[search->order[k]];
        if (column->own != NULL && column != last) {
            const float *bounds = column->own_bounds;
            float *most = search->most;
            for (uint32_t j = 0; j < others; j++) {
                most[j] = settled[j] + bounds[j];
            }
            settled = most;
        }
    }
    for (uint32_t j = 0; j < others; j++) {
        is_near[j] = settled[j] + row[j] >= least;
    }
    for (uint32_t j = 0; j < others; j += sizeof some) {
        memcpy(&some, is_near + j, sizeof some);
        for (uint32_t k = j; some != 0 && k < j + sizeof some; k++) {
            near[kept] = k;
            kept += is_near[k];
        }
    }
    search->near_number = kept;
}

/* List the candidate items that can reach the share together with an item (`_near`, `_may_reach`).
   Those without an equal leaf are included if graded leaves can be enough. */
static int
find_near(Search *search, const Item *item, const Item *candidates, uint32_t others, double share)
{
    double size = item->number > search->smallest ? item->number : search->smallest;
    const Column *last = set_own_texts(search, item, others);
    search->near_number = 0;
    memset(search->equal, 0, search->is_indexed ? others * sizeof *search->equal : 0);
    count_equal(search, item, candidates[0].leaves);
    if (search->by_rules && settle_rules(search, item, candidates, others) != DONE) {
        return FAILED;
    }
    if ((double)item->graded_number < share * size) {
        qsort(search->near, search->near_number, sizeof *search->near, by_number);
    } else if (last != NULL) {
        list_near(search, item, others, last, share);
    } else {
        for (uint32_t j = 0; j < others; j++) {
            search->near[j] = j;
        }
        search->near_number = others;
    }
    keep_near(search, item, candidates, share);
    return DONE;
}

/* Make room for what is known about the expected item at hand. */
static int
make_bounds(Search *search, uint32_t number, uint32_t others)
{
    search->most = TAKE(search, float, others);
    search->equal = TAKE(search, float, others);
    search->settled = search->by_rules ? TAKE(search, float, others) : search->equal;
    search->is_near = TAKE(search, Byte, (size_t)others + 7);
    search->near = TAKE(search, uint32_t, (size_t)others + 1);
    search->patterns = TAKE(search, Pattern, MOST_PATTERNS);
    if (search->most == NULL || search->equal == NULL || search->settled == NULL
        || search->is_near == NULL || search->near == NULL || search->patterns == NULL) {
        return FAILED;
    }
    memset(search->is_near + others, 0, 7);
    memset(search->equal, 0, others * sizeof *search->equal);
    for (int i = 0; i < MOST_PATTERNS; i++) {
        search->patterns[i].leaf = NULL;
    }
    search->smallest = UINT32_MAX;
    for (uint32_t i = 0; i < number + others; i++) {
        Item *item = &search->items[i];
        item->paths = 0;
        for (uint32_t k = 0; k < item->number; k++) {
            item->paths |= (uint64_t)1 << item->leaves[k].path;
        }
        if (i >= number && item->number < search->smallest) {
            search->smallest = item->number;
        }
    }
    return DONE;
}

/* `edges_of_few`: every pair with at least the minimum weight. */
static int
find_edges(Search *search)
{
    uint32_t number = search->alignment->expected.rest_number;
    uint32_t others = search->alignment->candidate.rest_number;
    const Item *candidates = &search->items[number];
    double min_weight = search->node->min_weight, share = min_weight / WEIGHT_UNIT - MARGIN;
    if (make_bounds(search, number, others) != DONE || make_columns(search, number, others) != DONE
        || index_leaves(search, candidates, others) != DONE) {
        return FAILED;
    }
    for (uint32_t i = 0; i < number; i++) {
        const Item *item = &search->items[i];
        if (find_near(search, item, candidates, others, share) != DONE) {
            return FAILED;
        }
        for (uint32_t k = 0; k < search->near_number; k++) {
            uint32_t j = search->near[k];
            double weight;
            if (find_weight(search, item, &candidates[j], j, share, &weight) != DONE
                || (weight >= min_weight && weight >= 0.0
                    && add_edge(search, weight, i, j) != DONE)) {
                return FAILED;
            }
        }
    }
    return DONE;
}

/* The values of some items. */
static PyObject *
item_values(const Side *side, const uint32_t *places, size_t number)
{
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values != NULL && i < number; i++) {
        PyObject *value = value_of(side->document, side->items[places[i]]);
        if (value == NULL || PyList_Append(values, value) < 0) {
            Py_CLEAR(values);
        }
        Py_XDECREF(value);
    }
    return values;
}

static void
pair_similar(Alignment *alignment, double weight, uint32_t place, uint32_t other)
{
    alignment->expected.partners[place] = other;
    alignment->candidate.partners[other] = place;
    alignment->similarities[place] = weight / WEIGHT_UNIT;
}

/* Pair the edges of a list (weight, place, other), which are between these items. */
static int
pair_edges(Alignment *alignment, PyObject *edges, const uint32_t *places, size_t place_number,
           const uint32_t *others, size_t other_number)
{
    PyObject *all = PySequence_Fast(edges, "edges must be a list");
    int done = all == NULL ? FAILED : DONE;
    for (Py_ssize_t i = 0; done == DONE && i < PySequence_Fast_GET_SIZE(all); i++) {
        Py_ssize_t place, other;
        double weight;
        PyObject *edge = PySequence_Fast_GET_ITEM(all, i);
        done = FAILED;
        if (!PyTuple_Check(edge)) {
            PyErr_SetString(PyExc_TypeError, "an edge must be a tuple");
        } else if (PyArg_ParseTuple(edge, "dnn", &weight, &place, &other)) {
            if (place < 0 || other < 0 || (size_t)place >= place_number
                || (size_t)other >= other_number) {
                PyErr_SetString(PyExc_IndexError, "an edge is between other items");
            } else {
                pair_similar(alignment, weight, places[place], others[other]);
                done = DONE;
            }
        }
    }
    Py_XDECREF(all);
    return done;
}

static int
by_weight(const void *one, const void *other)
{
    double left = ((const Edge *)one)->weight, right = ((const Edge *)other)->weight;
    return (left < right) - (left > right);
}

/* Sort numbers and drop duplicates; return how many are left. */
static size_t
sort_unique(uint32_t *numbers, size_t number)
{
    size_t kept = 0;
    qsort(numbers, number, sizeof *numbers, by_number);
    for (size_t i = 0; i < number; i++) {
        if (kept == 0 || numbers[kept - 1] != numbers[i]) {
            numbers[kept++] = numbers[i];
        }
    }
    return kept;
}

/* The place of a number among sorted ones that contain it. */
static Py_ssize_t
place_among(const uint32_t *numbers, size_t number, uint32_t wanted)
{
    const uint32_t *found = bsearch(&wanted, numbers, number, sizeof *numbers, by_number);
    return found - numbers;
}

/* Let Python select among edges (`select_few`), given only the items that they have. */
static int
select_by_python(Search *search, const Edge *edges, size_t number)
{
    Alignment *alignment = search->alignment;
    const Side *side = &alignment->expected, *other_side = &alignment->candidate;
    uint32_t *places = PyMem_New(uint32_t, 2 * number), *others = places + number;
    size_t place_number, other_number;
    PyObject *given = NULL, *expected = NULL, *candidate = NULL, *chosen = NULL;
    int done = FAILED;
    if (places == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (size_t i = 0; i < number; i++) {
        places[i] = side->rest[edges[i].place];
        others[i] = other_side->rest[edges[i].other];
    }
    place_number = sort_unique(places, number);
    other_number = sort_unique(others, number);
    given = PyList_New(0);
    for (size_t i = 0; given != NULL && i < number; i++) {
        PyObject *edge = Py_BuildValue(
            "dnn", edges[i].weight, place_among(places, place_number, side->rest[edges[i].place]),
            place_among(others, other_number, other_side->rest[edges[i].other]));
        if (edge == NULL || PyList_Append(given, edge) < 0) {
            Py_CLEAR(given);
        }
        Py_XDECREF(edge);
    }
    expected = item_values(side, places, place_number);
    candidate = item_values(other_side, others, other_number);
    if (given != NULL && expected != NULL && candidate != NULL) {
        chosen =
            PyObject_CallFunctionObjArgs(search->node->select, given, expected, candidate, NULL);
    }
    if (chosen != NULL) {
        done = pair_edges(alignment, chosen, places, place_number, others, other_number);
    }
    PyMem_Free(places);
    Py_XDECREF(given);
    Py_XDECREF(expected);
    Py_XDECREF(candidate);
    Py_XDECREF(chosen);
    return done;
}

/* How many free edges of the weight at hand an item has. */
typedef struct {
    size_t level; /* the end of the edges with that weight */
    uint32_t edges;
} Rivals;

static uint32_t
count_rival(Rivals *rivals, size_t level)
{
    rivals->edges = rivals->level == level ? rivals->edges + 1 : 1;
    rivals->level = level;
    return rivals->edges;
}

/* The greedy `_select_few`, one weight at a time: edges that share no item with another one of the
   same weight are taken, and Python selects among the others. TO_PYTHON if there are many edges. */
static int
select_greedily(Search *search)
{
    Alignment *alignment = search->alignment;
    const Side *expected = &alignment->expected, *candidate = &alignment->candidate;
    Rivals *ours =
               PyMem_Calloc((size_t)expected->rest_number + candidate->rest_number, sizeof *ours),
           *theirs = ours + expected->rest_number;
    const uint32_t *places = expected->rest, *others = candidate->rest;
    Edge *edges = search->edges;
    size_t end, number = search->edge_number;
    int done = DONE;
    if (ours == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    if (number > 0) {
        qsort(edges, number, sizeof *edges, by_weight);
    }
    for (size_t start = 0; done == DONE && start < number; start = end) {
        size_t free = start, contested = start;
        double weight = edges[start].weight;
        for (end = start; end < number && edges[end].weight == weight; end++) {
        }
        for (size_t i = start; i < end; i++) {
            if (expected->partners[places[edges[i].place]] == NOWHERE
                && candidate->partners[others[edges[i].other]] == NOWHERE) {
                count_rival(&ours[edges[i].place], end);
                count_rival(&theirs[edges[i].other], end);
                edges[free++] = edges[i];
            }
        }
        for (size_t i = start; i < free; i++) {
            if (ours[edges[i].place].edges > 1 || theirs[edges[i].other].edges > 1) {
                edges[contested++] = edges[i];
            } else {
                pair_similar(alignment, weight, places[edges[i].place], others[edges[i].other]);
            }
        }
        if (contested > start) {
            done = number > MOST_CONTESTED
                       ? TO_PYTHON
                       : select_by_python(search, edges + start, contested - start);
        }
    }
    PyMem_Free(ours);
    return done;
}

/* Undo `pair_similar` for all of the rest. */
static void
unpair_rest(Alignment *alignment)
{
    Side *sides[2] = {&alignment->expected, &alignment->candidate};
    for (int i = 0; i < 2; i++) {
        for (uint32_t j = 0; j < sides[i]->rest_number; j++) {
            sides[i]->partners[sides[i]->rest[j]] = NOWHERE;
        }
    }
}

/* `select_few`. */
static int
select_edges(Search *search)
{
    uint32_t *next = search->alignment->next; /* its chains are no longer needed */
    int contested = 0, done;
    for (size_t i = 0; i < search->edge_number; i++) {
        const Edge *edge = &search->edges[i];
        contested |= i > 0 && search->edges[i - 1].place == edge->place;
        next[edge->other] = NOWHERE;
    }
    for (size_t i = 0; i < search->edge_number; i++) {
        const Edge *edge = &search->edges[i];
        contested |= next[edge->other] != NOWHERE;
        next[edge->other] = edge->place;
    }
    if (!contested || (search->node->flags & GREEDY)) {
        done = select_greedily(search);
        if (done == TO_PYTHON) {
            unpair_rest(search->alignment);
        }
        return done;
    }
    return search->edge_number > MOST_CONTESTED
               ? TO_PYTHON
               : select_by_python(search, search->edges, search->edge_number);
}

/* Align the rest by their similarity; TO_PYTHON if a value is unusual. */
static int
align_similar(const Pair *pair, Node *node, Node *item_node, Alignment *alignment)
{
    Search search;
    int done;
    search.pair = pair;
    search.node = node;
    search.item_node = item_node;
    search.alignment = alignment;
    search.number = (size_t)alignment->expected.rest_number + alignment->candidate.rest_number;
    search.blocks = NULL;
    search.edges = NULL;
    search.space_used = UNUSABLE_SPACE;
    search.by_rules = 0;
    search.wide_number = search.path_number = search.edge_number = search.edge_capacity = 0;
    done = node->min_weight < 0.0 || (node->flags & WHOLE_RULE) ? TO_PYTHON : make_search(&search);
    if (done == DONE) {
        done = read_leaves(&search);
    }
    if (done == DONE) {
        done = drop_unshared(&search);
    }
    if (done == DONE && (node->flags & RULED)) {
        done = check_rules(&search);
    }
    if (done == DONE) {
        done = list_graded(&search);
    }
    if (done == DONE) {
        done = find_edges(&search);
    }
    if (done == DONE) {
        done = select_edges(&search);
    }
    free_search(&search);
    return done;
}

/* Let Python align the rest: `align_rest(list, places, expected, candidate)`. */
static int
align_by_python(const Pair *pair, const Node *node, Alignment *alignment, const Token *list)
{
    const Side *side = &alignment->expected, *other_side = &alignment->candidate;
    PyObject *raw = PyBytes_FromStringAndSize((const char *)BYTES(pair->expected) + list->start,
                                              (Py_ssize_t)list->length);
    PyObject *places = PyList_New(0), *expected = NULL, *candidate = NULL, *edges = NULL;
    int done = FAILED;
    for (uint32_t i = 0; places != NULL && i < side->rest_number; i++) {
        if (append_number(places, (Py_ssize_t)side->rest[i]) != DONE) {
            Py_CLEAR(places);
        }
    }
    if (raw != NULL && places != NULL) {
        expected = item_values(side, side->rest, side->rest_number);
        candidate = item_values(other_side, other_side->rest, other_side->rest_number);
    }
    if (expected != NULL && candidate != NULL) {
        edges =
            PyObject_CallFunctionObjArgs(node->align_rest, raw, places, expected, candidate, NULL);
    }
    if (edges == Py_None) {
        done = TO_PYTHON; /* the whole list */
    } else if (edges != NULL) {
        done = pair_edges(alignment, edges, side->rest, side->rest_number, other_side->rest,
                          other_side->rest_number);
    }
    Py_XDECREF(raw);
    Py_XDECREF(places);
    Py_XDECREF(expected);
    Py_XDECREF(candidate);
    Py_XDECREF(edges);
    return done;
}

/* ---- 9. Lists ---- */

/* Mark that the following cells belong to these items (`ItemMark`). */
static int
mark_item(const Pair *pair, const Node *node, uint32_t place, uint32_t other, double similarity)
{
    PyObject *values[5] = {
        PyLong_FromSsize_t(PyList_GET_SIZE(pair->cells)),
        Py_NewRef(node->item_path),
        place == NOWHERE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(place),
        other == NOWHERE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(other),
        place == NOWHERE || other == NOWHERE ? Py_NewRef(Py_None) : PyFloat_FromDouble(similarity),
    };
    PyObject *mark = PyTuple_New(5);
    int done = mark != NULL;
    for (int i = 0; i < 5; i++) {
        done = done && values[i] != NULL;
        if (mark != NULL) {
            PyTuple_SET_ITEM(mark, i, values[i]);
        } else {
            Py_XDECREF(values[i]);
        }
    }
    if (done) {
        PyObject_GC_UnTrack(mark); /* it cannot be part of a cycle */
    }
    done = done && PyList_Append(pair->items, mark) == 0;
    Py_XDECREF(mark);
    return done ? DONE : FAILED;
}

/* Call a function of `Walk` that records a value without counterpart; `names` are those of its
   arguments after the first three. */
static int
record_by_python(const Pair *pair, PyObject *function, PyObject *names, const Node *node,
                 const Token *token, int extra)
{
    PyObject *value = value_of(extra ? pair->candidate : pair->expected, token), *told = NULL;
    PyObject *arguments[5] = {node->node, value, pair->outcomes, extra ? Py_True : Py_False,
                              Py_True};
    int done;
    if (value != NULL) {
        told = PyObject_Vectorcall(function, arguments, 3, names);
    }
    done = told == NULL ? FAILED : DONE;
    Py_XDECREF(value);
    Py_XDECREF(told);
    return done;
}

/* `Walk.record_unmatched_item`: record the leaves of an item without counterpart. */
static int
record_item(const Pair *pair, Node *node, const Token *item, int extra)
{
    const Walker *walker = pair->walker;
    Py_ssize_t start = PyList_GET_SIZE(pair->cells);
    int done;
    if (!(node->flags & WALKS) || item->type != IS_OBJECT || item->is.count == 0) {
        return record_by_python(pair, walker->record_item, walker->extra, node, item, extra);
    }
    done = record_unmatched(pair, node, item, extra, 1);
    if (done != DONE || PyList_GET_SIZE(pair->cells) > start) {
        return done;
    }
    return record_by_python(pair, walker->record_bare_item, walker->extra, node, item, extra);
}

/* `Walk.record_unmatched`: record every leaf of a value without counterpart. */
static int
record_unmatched(const Pair *pair, Node *node, const Token *token, int extra, int in_list)
{
    const Walker *walker = pair->walker;
    const Document *document = extra ? pair->candidate : pair->expected;
    const Token *inner = token + 1;
    Node *item_node = NULL;
    int done = DONE;
    if ((node->flags & SKIPPED) || (extra && !walker->with_extras)) {
        return DONE;
    }
    if (token->type < IS_LIST) {
        int presence = presence_of(token);
        if ((node->flags & IS_LEAF) && presence != UNKNOWN) {
            return in_list && presence != VALUE
                       ? DONE
                       : compare_leaf(pair, node, extra ? NULL : token, extra ? token : NULL);
        }
    } else if (token->is.count > 0 && (node->flags & WALKS)) {
        if (token->type == IS_LIST && node->item_path != Py_None) {
            item_node = item_of(walker, node);
            if (item_node == NULL && PyErr_Occurred()) {
                return FAILED;
            }
        }
        for (uint32_t i = 0; done == DONE && item_node != NULL && i < token->is.count; i++) {
            done = mark_item(pair, node, extra ? NOWHERE : i, extra ? i : NOWHERE, 0.0);
            done = done == DONE ? record_item(pair, item_node, inner, extra) : done;
            inner = &document->tokens[inner->next];
        }
        for (uint32_t i = 0; done == DONE && token->type == IS_OBJECT && i < token->is.count; i++) {
            Node *child = child_of(walker, node, BYTES(document), inner, i);
            done = child == NULL ? FAILED : record_unmatched(pair, child, inner, extra, in_list);
            inner = &document->tokens[inner->next];
        }
        if (item_node != NULL || token->type == IS_OBJECT) {
            return done;
        }
    }
    done = record_by_python(pair, walker->record, in_list ? walker->extra_in_list : walker->extra,
                            node, token, extra);
    if (done == DONE && node->base < 0 && (node->flags & IS_LEAF)) {
        done = describe(walker, node);
    }
    return done;
}

/* Compare the items of an alignment, then record those without counterpart. */
static int
compare_items(const Pair *pair, Node *node, Node *item_node, const Alignment *alignment)
{
    const Side *expected = &alignment->expected, *candidate = &alignment->candidate;
    int done = DONE;
    for (uint32_t i = 0; done == DONE && i < expected->number; i++) {
        uint32_t partner = expected->partners[i];
        const Token *item = expected->items[i], *other;
        if (partner == NOWHERE) {
            continue;
        }
        other = candidate->items[partner];
        done = mark_item(pair, node, i, partner, alignment->similarities[i]);
        if (done == DONE) {
            int walked = (item_node->flags & WALKS) && item->type == IS_OBJECT
                         && other->type == IS_OBJECT && item->is.count > 0;
            done = walked ? compare_objects(pair, item_node, item, other)
                          : compare(pair, item_node, item, other);
        }
    }
    for (uint32_t i = 0; done == DONE && i < expected->number; i++) {
        if (expected->partners[i] == NOWHERE) {
            done = mark_item(pair, node, i, NOWHERE, 0.0);
            done = done == DONE ? record_item(pair, item_node, expected->items[i], 0) : done;
        }
    }
    for (uint32_t i = 0; done == DONE && pair->walker->with_extras && i < candidate->number; i++) {
        if (candidate->partners[i] == NOWHERE) {
            done = mark_item(pair, node, NOWHERE, i, 0.0);
            done = done == DONE ? record_item(pair, item_node, candidate->items[i], 1) : done;
        }
    }
    return done;
}

/* `Walk._compare_lists`; TO_PYTHON before anything is recorded. */
static int
compare_lists(const Pair *pair, Node *node, const Token *expected, const Token *candidate)
{
    Alignment alignment = {0};
    const Side *side = &alignment.expected, *other = &alignment.candidate;
    Node *item_node = NULL;
    int done;
    if (((expected->flags | candidate->flags) & VARIANT) || expected->is.count > MOST_ITEMS
        || candidate->is.count > MOST_ITEMS) {
        return TO_PYTHON;
    }
    done = make_alignment(&alignment, pair, expected, candidate);
    if (done == DONE) {
        done = pair_equal(&alignment);
    }
    if (done == DONE && (node->flags & RULED)) {
        item_node = item_of(pair->walker, node);
        done = item_node != NULL ? DONE : PyErr_Occurred() ? FAILED : TO_PYTHON;
    }
    if (done == DONE && side->rest_number > 0 && other->rest_number > 0) {
        if ((uint64_t)side->rest_number * other->rest_number > MOST_PAIRS) {
            done = TO_PYTHON;
        } else {
            done = align_similar(pair, node, item_node, &alignment);
            if (done == TO_PYTHON) {
                done = align_by_python(pair, node, &alignment, expected);
            }
        }
    }
    if (done == DONE) {
        item_node = item_of(pair->walker, node);
        done = item_node != NULL  ? compare_items(pair, node, item_node, &alignment)
               : PyErr_Occurred() ? FAILED
                                  : TO_PYTHON;
    }
    free_alignment(&alignment);
    return done;
}

/* ---- 10. Counting ---- */

#define CELL_BITS 7 /* as in model/outcome.py, like the next two */
#define FACTS (1 << CELL_BITS)
#define FACT_MASK (FACTS - 1)
#define LANES 20 /* as in metrics/case_score.py, like the next */
#define SMALL_CASE 64

typedef struct {
    long long cell;
    Py_ssize_t times;
    Py_ssize_t first; /* where it occurs first */
} Counted;

/* The different cells of a list in order, and a table of their places, from 1. */
typedef struct {
    Counted *counted;
    uint32_t *table;
    size_t number, size; /* of the table; at most half of it is used */
} Counter;

#define FIRST_COUNTED 128 /* there are few different cells, however many there are */

/* The place for a cell in the table of a counter. */
static uint32_t *
place_of_cell(const Counter *counter, long long cell)
{
    size_t at = (size_t)mixed(6, (uint64_t)cell) & (counter->size - 1);
    while (counter->table[at] != 0 && counter->counted[counter->table[at] - 1].cell != cell) {
        at = (at + 1) & (counter->size - 1);
    }
    return &counter->table[at];
}

static int
grow_counter(Counter *counter)
{
    size_t size = counter->size > 0 ? 2 * counter->size : 2 * FIRST_COUNTED;
    Counted *counted = PyMem_Realloc(counter->counted, size / 2 * sizeof *counted);
    uint32_t *table = PyMem_Calloc(size, sizeof *table);
    counter->counted = counted == NULL ? counter->counted : counted;
    if (counted == NULL || table == NULL || size > UINT32_MAX) {
        PyMem_Free(table);
        PyErr_NoMemory();
        return FAILED;
    }
    PyMem_Free(counter->table);
    counter->table = table;
    counter->size = size;
    for (size_t i = 0; i < counter->number; i++) {
        *place_of_cell(counter, counted[i].cell) = (uint32_t)i + 1;
    }
    return DONE;
}

static int
count_into(Counter *counter, PyObject *cells)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cells); i++) {
        long long cell = PyLong_AsLongLong(PyList_GET_ITEM(cells, i));
        uint32_t *place;
        if ((cell == -1 && PyErr_Occurred())
            || (2 * counter->number >= counter->size && grow_counter(counter) != DONE)) {
            return FAILED;
        }
        place = place_of_cell(counter, cell);
        if (*place == 0) {
            counter->counted[counter->number] = (Counted){cell, 0, i};
            *place = (uint32_t)++counter->number;
        }
        counter->counted[*place - 1].times++;
    }
    return DONE;
}

PyDoc_STRVAR(count_doc, "count(cells) -> how often each cell occurs (`count_cells`)");

static PyObject *
count(PyObject *module, PyObject *cells)
{
    PyObject *times = NULL;
    Counter counter = {0};
    (void)module;
    if (!PyList_Check(cells)) {
        PyErr_SetString(PyExc_TypeError, "expected a list");
        return NULL;
    }
    if (count_into(&counter, cells) == DONE) {
        times = PyDict_New();
    }
    for (size_t i = 0; times != NULL && i < counter.number; i++) {
        const Counted *counted = &counter.counted[i];
        PyObject *number = PyLong_FromSsize_t(counted->times);
        if (number == NULL
            || PyDict_SetItem(times, PyList_GET_ITEM(cells, counted->first), number) < 0) {
            Py_CLEAR(times);
        }
        Py_XDECREF(number);
    }
    PyMem_Free(counter.counted);
    PyMem_Free(counter.table);
    return times;
}

/* The cells of one attribute. */
typedef struct {
    long long attribute;
    int64_t effect;
    int is_used, is_odd;
} Group;

typedef struct {
    Group *groups; /* a table */
    size_t size;
    size_t *odd; /* the places of attributes with a cell that is not plain, in order */
    size_t number, odd_number;
    uint32_t facts[FACTS]; /* how often each fact occurs */
} Groups;

/* Add the cells of a list to the groups of their attributes; TO_PYTHON if the table is full. */
static int
group_cells(Groups *groups, PyObject *cells, int plain, const int64_t *effects)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cells); i++) {
        long long cell = PyLong_AsLongLong(PyList_GET_ITEM(cells, i));
        int fact = (int)(cell & FACT_MASK);
        size_t at = (size_t)mixed(6, (uint64_t)cell >> CELL_BITS) & (groups->size - 1);
        Group *group = &groups->groups[at];
        if (cell < 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "a cell is negative");
            }
            return FAILED;
        }
        while (group->is_used && group->attribute != cell >> CELL_BITS) {
            at = (at + 1) & (groups->size - 1);
            group = &groups->groups[at];
        }
        if (!group->is_used) {
            if (2 * groups->number == groups->size) {
                return TO_PYTHON;
            }
            group->is_used = 1;
            group->attribute = cell >> CELL_BITS;
            groups->number++;
        }
        if (fact == plain) {
            group->effect += (int64_t)1 << 32;
        } else {
            group->effect += effects[fact];
            if (!group->is_odd) {
                group->is_odd = 1;
                groups->odd[groups->odd_number++] = at;
            }
        }
        groups->facts[fact]++;
    }
    return DONE;
}

/* The sums over facts, the effects of odd attributes, and the number of the others. */
static PyObject *
grouped_sums(const Groups *groups, const uint32_t *rows)
{
    uint32_t lanes[LANES] = {0};
    PyObject *effects = PyList_New((Py_ssize_t)groups->odd_number);
    for (int fact = 0; fact < FACTS; fact++) {
        uint32_t times = groups->facts[fact];
        for (int lane = 0; times > 0 && lane < LANES; lane++) {
            lanes[lane] += times * rows[fact * LANES + lane];
        }
    }
    for (size_t i = 0; effects != NULL && i < groups->odd_number; i++) {
        PyObject *effect = PyLong_FromLongLong(groups->groups[groups->odd[i]].effect);
        if (effect == NULL) {
            Py_CLEAR(effects);
        } else {
            PyList_SET_ITEM(effects, (Py_ssize_t)i, effect);
        }
    }
    if (effects == NULL) {
        return NULL;
    }
    return Py_BuildValue("y#Nn", (const char *)lanes, (Py_ssize_t)sizeof lanes, effects,
                         (Py_ssize_t)(groups->number - groups->odd_number));
}

/* A power of two that is at least twice a number. */
static size_t
table_size_for(Py_ssize_t number)
{
    size_t size = 16;
    while (size < 2 * (size_t)number) {
        size *= 2;
    }
    return size;
}

PyDoc_STRVAR(sum_cells_doc,
             "sum_cells(cells, plain, rows, effects) -> (lanes, effects, clean)\n\n"
             "The sums over the cells of a case, as by `_sum_cells`; `plain` is the fact of a\n"
             "plain match.");

static PyObject *
sum_cells(PyObject *module, PyObject *args)
{
    PyObject *cells, *sums = NULL;
    Py_buffer rows, effects;
    Group few[2 * SMALL_CASE];
    size_t few_odd[2 * SMALL_CASE];
    Groups groups = {.groups = few, .odd = few_odd, .size = 2 * SMALL_CASE};
    int plain;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!iy*y*", &PyList_Type, &cells, &plain, &rows, &effects)) {
        return NULL;
    }
    if (rows.len != (Py_ssize_t)sizeof(uint32_t) * FACTS * LANES
        || effects.len != (Py_ssize_t)sizeof(int64_t) * FACTS) {
        PyErr_SetString(PyExc_ValueError, "there are 128 facts");
    } else if (PyList_GET_SIZE(cells) > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "there are too many cells");
    } else {
        int done;
        memset(few, 0, sizeof few);
        done = group_cells(&groups, cells, plain, effects.buf);
        if (done == TO_PYTHON) { /* many attributes */
            groups = (Groups){.size = table_size_for(PyList_GET_SIZE(cells))};
            groups.groups = PyMem_Calloc(groups.size, sizeof *groups.groups);
            groups.odd = PyMem_New(size_t, groups.size);
            if (groups.groups == NULL || groups.odd == NULL) {
                PyErr_NoMemory();
            } else {
                done = group_cells(&groups, cells, plain, effects.buf);
            }
        }
        if (done == DONE) {
            sums = grouped_sums(&groups, rows.buf);
        }
        if (groups.groups != few) {
            PyMem_Free(groups.groups);
            PyMem_Free(groups.odd);
        }
    }
    PyBuffer_Release(&rows);
    PyBuffer_Release(&effects);
    return sums;
}

/* ---- 11. Rows ---- */

typedef struct {
    char *bytes;
    size_t length, capacity;
} Writer;

/* Make room for more bytes; NULL for an error. */
static char *
reserve(Writer *writer, size_t more)
{
    if (more > writer->capacity - writer->length) {
        size_t capacity = 2 * writer->capacity + more;
        char *bytes = PyMem_Realloc(writer->bytes, capacity);
        if (bytes == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        writer->bytes = bytes;
        writer->capacity = capacity;
    }
    return writer->bytes + writer->length;
}

static int
write_bytes(Writer *writer, const char *bytes, size_t length)
{
    char *to = reserve(writer, length);
    if (to == NULL) {
        return FAILED;
    }
    memcpy(to, bytes, length);
    writer->length += length;
    return DONE;
}

#define WRITE(writer, text) write_bytes(writer, text, sizeof(text) - 1)

static int
write_whole(Writer *writer, long long number)
{
    char digits[24], *at = digits + sizeof digits;
    unsigned long long rest =
        number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        *--at = '-';
    }
    return write_bytes(writer, at, (size_t)(digits + sizeof digits - at));
}

/* Let orjson write a value; TO_PYTHON if it cannot. */
static int
write_by_orjson(Writer *writer, PyObject *value)
{
    PyObject *text;
    int done;
    if (dumps == NULL && !import_orjson()) {
        return FAILED;
    }
    text = PyObject_CallOneArg(dumps, value);
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return FAILED;
        }
        PyErr_Clear();
        return TO_PYTHON;
    }
    done = PyBytes_Check(text)
               ? write_bytes(writer, PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text))
               : TO_PYTHON;
    Py_DECREF(text);
    return done;
}

#define SHORT_DECIMALS 12 /* the similarities of items are multiples of 1 / WEIGHT_UNIT */

static int
write_real(Writer *writer, PyObject *value)
{
    double number = PyFloat_AS_DOUBLE(value);
    char text[2 + SHORT_DECIMALS] = "0.";
    int length = sizeof text;
    long long units;
    if (number == 1.0) {
        return WRITE(writer, "1.0");
    }
    if (number == 0.0 && !signbit(number)) {
        return WRITE(writer, "0.0");
    }
    if (!(number >= 0.001 && number < 1.0)) {
        return write_by_orjson(writer, value);
    }
    units = (long long)(number * WEIGHT_UNIT + 0.5);
    if ((double)units / WEIGHT_UNIT != number) {
        return write_by_orjson(writer, value);
    }
    /* The shortest text of a float is the only one with at most 15 digits. */
    for (int i = length - 1; i >= 2; i--) {
        text[i] = (char)('0' + units % 10);
        units /= 10;
    }
    while (text[length - 1] == '0') {
        length--;
    }
    return write_bytes(writer, text, (size_t)length);
}

/* Write a string; orjson writes what is not printable ASCII. */
static int
write_string(Writer *writer, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const Byte *letters;
    char *to;
    if (!PyUnicode_IS_ASCII(text)) {
        return write_by_orjson(writer, text);
    }
    letters = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t i = 0; i < length; i++) {
        if (letters[i] < ' ' || letters[i] == '"' || letters[i] == '\\') {
            return write_by_orjson(writer, text);
        }
    }
    to = reserve(writer, (size_t)length + 2);
    if (to == NULL) {
        return FAILED;
    }
    to[0] = '"';
    memcpy(to + 1, letters, (size_t)length);
    to[length + 1] = '"';
    writer->length += (size_t)length + 2;
    return DONE;
}

/* Write a string, an integer, a float or None; others are left to Python. */
static int
write_scalar(Writer *writer, PyObject *value)
{
    if (value == Py_None) {
        return WRITE(writer, "null");
    }
    if (PyFloat_CheckExact(value)) {
        return write_real(writer, value);
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow ? write_by_orjson(writer, value) : write_whole(writer, number);
    }
    return PyUnicode_Check(value) ? write_string(writer, value) : TO_PYTHON;
}

/* The fields of `Comparison`. */
enum { SCORE = 1, SIMILARITY, REASON, COERCED = 6, AMBIGUOUS, APPROXIMATE, NOTE, COMPARISON_SIZE };

/* `_comparison`, with its note. */
static int
write_comparison(Writer *writer, PyObject *place, PyObject *comparison)
{
    static const char *const names[] = {"\"coerced\"", "\"ambiguous\"", "\"approximate\""};
    static const int order[] = {SIMILARITY, SCORE, REASON};
    PyObject *note;
    int done, written = 0;
    if (!PyTuple_Check(comparison) || PyTuple_GET_SIZE(comparison) != COMPARISON_SIZE
        || !PyUnicode_Check(PyTuple_GET_ITEM(comparison, NOTE))) {
        return TO_PYTHON;
    }
    done = WRITE(writer, "[");
    done = done == DONE ? write_scalar(writer, place) : done;
    for (int i = 0; done == DONE && i < 3; i++) {
        done = WRITE(writer, ",");
        done = done == DONE ? write_scalar(writer, PyTuple_GET_ITEM(comparison, order[i])) : done;
    }
    done = done == DONE ? WRITE(writer, ",[") : done;
    for (int i = 0; done == DONE && i < 3; i++) {
        int is_set = PyObject_IsTrue(PyTuple_GET_ITEM(comparison, COERCED + i));
        if (is_set < 0) {
            return FAILED;
        }
        if (is_set) {
            done = written++ > 0 ? WRITE(writer, ",") : DONE;
            done = done == DONE ? write_bytes(writer, names[i], strlen(names[i])) : done;
        }
    }
    done = done == DONE ? WRITE(writer, "]") : done;
    note = PyTuple_GET_ITEM(comparison, NOTE);
    if (done == DONE && PyUnicode_GET_LENGTH(note) > 0) {
        done = WRITE(writer, ",");
        done = done == DONE ? write_string(writer, note) : done;
    }
    return done == DONE ? WRITE(writer, "]") : done;
}

static int
write_comparisons(Writer *writer, PyObject *comparisons)
{
    PyObject *place, *comparison;
    Py_ssize_t at = 0;
    int done = WRITE(writer, ",\"comparisons\":"), number = 0;
    while (done == DONE && PyDict_Next(comparisons, &at, &place, &comparison)) {
        done = number++ == 0 ? WRITE(writer, "[") : WRITE(writer, ",");
        done = done == DONE ? write_comparison(writer, place, comparison) : done;
    }
    return done == DONE ? WRITE(writer, "]") : done;
}

/* `RowNumbers.items`; a list without a number is left to it. */
static int
write_items(Writer *writer, PyObject *items, PyObject *numbers)
{
    int done = WRITE(writer, ",\"items\":");
    for (Py_ssize_t i = 0; done == DONE && i < PyList_GET_SIZE(items); i++) {
        PyObject *mark = PyList_GET_ITEM(items, i);
        if (!PyTuple_Check(mark) || PyTuple_GET_SIZE(mark) != 5) {
            return TO_PYTHON;
        }
        done = i == 0 ? WRITE(writer, "[[") : WRITE(writer, ",[");
        for (int k = 0; done == DONE && k < 5; k++) {
            PyObject *value = PyTuple_GET_ITEM(mark, k);
            if (k == 1) {
                value = PyDict_GetItemWithError(numbers, value);
                if (value == NULL) {
                    return PyErr_Occurred() ? FAILED : TO_PYTHON;
                }
            }
            done = k > 0 ? WRITE(writer, ",") : DONE;
            done = done == DONE ? write_scalar(writer, value) : done;
        }
        done = done == DONE ? WRITE(writer, "]") : done;
    }
    return done == DONE ? WRITE(writer, "]") : done;
}

/* `_document_json`; a document that orjson would write otherwise is left to Python. */
static int
write_document(Writer *writer, PyObject *value)
{
    Document *document = (Document *)value;
    size_t after, length;
    const char *bytes;
    int done = Py_IS_TYPE(value, &DocumentType) ? is_canonical(document) : TO_PYTHON;
    if (done != DONE) {
        return done;
    }
    bytes = PyBytes_AS_STRING(document->raw);
    length = (size_t)PyBytes_GET_SIZE(document->raw);
    after = (size_t)document->gap + document->gap_length;
    done = write_bytes(writer, bytes, document->gap);
    return done == DONE ? write_bytes(writer, bytes + after, length - after) : done;
}

PyDoc_STRVAR(
    row_doc,
    "row(case_id, record, comparisons, items, numbers, expected, candidate)\n"
    "-> a line of results.jsonl, or None if it is left to `CaseEncoder`\n\n"
    "`record` is what the line contains between the id and the comparisons. `numbers` are\n"
    "the stored numbers of lists.");

static PyObject *
row(PyObject *module, PyObject *args)
{
    PyObject *id, *record, *comparisons, *items, *numbers, *expected, *candidate, *line = NULL;
    Writer writer = {0};
    int done;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!OO", &PyUnicode_Type, &id, &PyBytes_Type, &record,
                          &PyDict_Type, &comparisons, &PyList_Type, &items, &PyDict_Type, &numbers,
                          &expected, &candidate)) {
        return NULL;
    }
    done = WRITE(&writer, "{\"case_id\":");
    done = done == DONE ? write_string(&writer, id) : done;
    if (done == DONE) {
        done = write_bytes(&writer, PyBytes_AS_STRING(record), (size_t)PyBytes_GET_SIZE(record));
    }
    if (done == DONE && PyDict_GET_SIZE(comparisons) > 0) {
        done = write_comparisons(&writer, comparisons);
    }
    if (done == DONE && PyList_GET_SIZE(items) > 0) {
        done = write_items(&writer, items, numbers);
    }
    done = done == DONE ? WRITE(&writer, ",\"expected\":") : done;
    done = done == DONE ? write_document(&writer, expected) : done;
    done = done == DONE ? WRITE(&writer, ",\"candidate\":") : done;
    done = done == DONE ? write_document(&writer, candidate) : done;
    done = done == DONE ? WRITE(&writer, "}\n") : done;
    if (done == DONE) {
        line = PyBytes_FromStringAndSize(writer.bytes, (Py_ssize_t)writer.length);
    } else if (done == TO_PYTHON) {
        line = Py_NewRef(Py_None);
    }
    PyMem_Free(writer.bytes);
    return line;
}

#define SKIP(reader, text) skip_text(reader, "" text, sizeof(text) - 1)

/* Skip what is before the ground truth of a row; 0 if it has none. */
static int
skip_record(Reader *reader)
{
    static const char key[] = ",\"expected\":";
    const size_t before = 3, length = sizeof key - 1; /* few letters of a record are an x */
    const Byte *at = reader->at + before;
    while (at < reader->end && (at = memchr(at, 'x', (size_t)(reader->end - at))) != NULL) {
        if ((size_t)(reader->end - at) >= length - before
            && memcmp(at - before, key, length) == 0) {
            reader->at = at - before;
            return 1;
        }
        at++;
    }
    return 0;
}

/* Read the next document of a row; NULL without an error if it is left to Python. */
static PyObject *
read_stored(Reader *reader)
{
    int done = read_root(reader);
    if (done != DONE || reader->tokens[0].type != IS_OBJECT) {
        return NULL;
    }
    return (PyObject *)make_document(reader, 0, 0, NULL);
}

PyDoc_STRVAR(
    divide_row_doc,
    "divide_row(line, missing)\n"
    "-> (case_id, record, (expected, candidate)), or None if it is left to `divide_row`\n\n"
    "Divide a line of results.jsonl; `missing` stands for a candidate that it does not\n"
    "have.");

/* Divide a line that starts no segment (`divide_row`), and read its documents. */
static PyObject *
divide_row(PyObject *module, PyObject *const *args, Py_ssize_t number)
{
    Reader reader = {.limits = {MAX_DEPTH, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX}};
    const char *id, *record;
    Py_ssize_t id_length, record_length;
    PyObject *expected = NULL, *candidate = NULL, *parts = NULL;
    (void)module;
    if (number != 2 || !PyBytes_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "expected bytes and a default");
        return NULL;
    }
    reader.begin = reader.at = (const Byte *)PyBytes_AS_STRING(args[0]);
    reader.end = reader.begin + PyBytes_GET_SIZE(args[0]);
    if (reader.end - reader.begin > LONGEST_LINE || !SKIP(&reader, "{\"case_id\":\"")) {
        Py_RETURN_NONE;
    }
    id = (const char *)reader.at;
    while (reader.at < reader.end && *reader.at >= ' ' && *reader.at <= '~' && *reader.at != '"'
           && *reader.at != '\\') {
        reader.at++;
    }
    id_length = (const char *)reader.at - id;
    record = (const char *)reader.at + 1;
    if (!SKIP(&reader, "\",\"score\":") || !skip_record(&reader)) {
        Py_RETURN_NONE;
    }
    record_length = (const char *)reader.at - record;
    reader.at += sizeof(",\"expected\":") - 1;
    expected = read_stored(&reader);
    if (expected != NULL) {
        int has_candidate = SKIP(&reader, ",\"candidate\":");
        candidate = has_candidate ? read_stored(&reader) : Py_NewRef(args[1]);
    }
    if (candidate != NULL && SKIP(&reader, "}\n") && reader.at == reader.end) {
        parts =
            Py_BuildValue("s#y#(OO)", id, id_length, record, record_length, expected, candidate);
    } else if (!PyErr_Occurred()) {
        parts = Py_NewRef(Py_None);
    }
    Py_XDECREF(expected);
    Py_XDECREF(candidate);
    free_reader(&reader);
    return parts;
}

/* ---- 12. The module ---- */

static void
walker_dealloc(Walker *walker)
{
    free_node(walker->root);
    Py_XDECREF(walker->describe);
    Py_XDECREF(walker->compare);
    Py_XDECREF(walker->classify);
    Py_XDECREF(walker->record);
    Py_XDECREF(walker->record_item);
    Py_XDECREF(walker->record_bare_item);
    Py_XDECREF(walker->similarity);
    Py_XDECREF(walker->outcomes);
    Py_XDECREF(walker->matched);
    Py_XDECREF(walker->missing);
    Py_XDECREF(walker->fold);
    Py_XDECREF(walker->child);
    Py_XDECREF(walker->item);
    Py_XDECREF(walker->any_index);
    Py_XDECREF(walker->different);
    Py_XDECREF(walker->wrong_type);
    Py_XDECREF(walker->extra);
    Py_XDECREF(walker->extra_in_list);
    Py_TYPE(walker)->tp_free((PyObject *)walker);
}

/* Find where Outcomes have their attributes, which are slots. */
static int
find_slots(Walker *walker)
{
    static const char *const names[] = {"cells", "comparisons", "items", "fallback", "times"};
    if (!PyType_Check(walker->outcomes)) {
        PyErr_SetString(PyExc_TypeError, "outcomes must be a class");
        return 0;
    }
    for (int i = 0; i < 5; i++) {
        PyObject *slot = PyObject_GetAttrString(walker->outcomes, names[i]);
        int is_slot = slot != NULL && Py_IS_TYPE(slot, &PyMemberDescr_Type);
        if (is_slot) {
            walker->slots[i] = ((PyMemberDescrObject *)slot)->d_member->offset;
        } else if (slot != NULL) {
            PyErr_SetString(PyExc_TypeError, "the attributes of outcomes must be slots");
        }
        Py_XDECREF(slot);
        if (!is_slot) {
            return 0;
        }
    }
    return 1;
}

/* `Outcomes` without fields. */
static PyObject *
make_outcomes(const Walker *walker)
{
    PyTypeObject *type = (PyTypeObject *)walker->outcomes;
    PyObject *outcomes = type->tp_alloc(type, 0);
    PyObject *values[] = {PyList_New(SMALL_CASE / 2), PyDict_New(), PyList_New(0),
                          Py_NewRef(Py_False), Py_NewRef(Py_None)};
    int done = outcomes != NULL;
    if (values[0] != NULL) {
        Py_SET_SIZE(values[0], 0); /* there is room for the cells of most cases */
    }
    for (int i = 0; i < 5; i++) {
        done = done && values[i] != NULL;
        if (outcomes != NULL) {
            *(PyObject **)((char *)outcomes + walker->slots[i]) = values[i];
        } else {
            Py_XDECREF(values[i]);
        }
    }
    if (!done) {
        Py_CLEAR(outcomes);
    }
    return outcomes;
}

static PyObject *
walker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *root, *given[13];
    Py_buffer facts;
    int with_extras;
    Walker *walker;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "Opy*OOOOOOOOOOOOO", &root, &with_extras, &facts, &given[0],
                          &given[1], &given[2], &given[3], &given[4], &given[5], &given[6],
                          &given[7], &given[8], &given[9], &given[10], &given[11], &given[12])) {
        return NULL;
    }
    if (facts.len != (Py_ssize_t)sizeof walker->facts) {
        PyErr_SetString(PyExc_ValueError, "there are 18 facts");
        PyBuffer_Release(&facts);
        return NULL;
    }
    walker = (Walker *)type->tp_alloc(type, 0);
    if (walker != NULL) {
        PyObject **kept[13] = {&walker->describe,   &walker->compare,     &walker->classify,
                               &walker->record,     &walker->record_item, &walker->record_bare_item,
                               &walker->similarity, &walker->fold,        &walker->outcomes,
                               &walker->matched,    &walker->different,   &walker->wrong_type,
                               &walker->missing};
        for (int i = 0; i < 13; i++) {
            *kept[i] = Py_NewRef(given[i]);
        }
        walker->with_extras = with_extras;
        memcpy(walker->facts, facts.buf, sizeof walker->facts);
        walker->child = PyUnicode_InternFromString("child");
        walker->item = PyUnicode_InternFromString("item");
        walker->any_index = PyLong_FromLong(-1);
        walker->extra = Py_BuildValue("(s)", "extra");
        walker->extra_in_list = Py_BuildValue("(ss)", "extra", "in_list");
        if (walker->child != NULL && walker->item != NULL && walker->any_index != NULL
            && walker->extra != NULL && walker->extra_in_list != NULL && find_slots(walker)) {
            walker->root = make_node(walker, root);
        }
        if (walker->root == NULL) {
            Py_CLEAR(walker);
        }
    }
    PyBuffer_Release(&facts);
    return (PyObject *)walker;
}

/* Compare two documents, of which the candidate may be NULL; NULL without an error if one of them
   is empty. */
static PyObject *
compare_documents(Walker *walker, const Document *expected, const Document *candidate)
{
    Pair pair = {.walker = walker, .expected = expected, .candidate = candidate};
    int done = FAILED;
    if (expected->tokens[0].is.count == 0
        || (candidate != NULL && candidate->tokens[0].is.count == 0)) {
        return NULL;
    }
    pair.outcomes = make_outcomes(walker);
    if (pair.outcomes == NULL) {
        return NULL;
    }
    pair.cells = *(PyObject **)((char *)pair.outcomes + walker->slots[0]);
    pair.comparisons = *(PyObject **)((char *)pair.outcomes + walker->slots[1]);
    pair.items = *(PyObject **)((char *)pair.outcomes + walker->slots[2]);
    if (candidate == NULL) {
        done = record_unmatched(&pair, walker->root, &expected->tokens[0], 0, 0);
    } else {
        done = compare_objects(&pair, walker->root, &expected->tokens[0], &candidate->tokens[0]);
    }
    if (done != DONE) {
        Py_CLEAR(pair.outcomes);
    }
    return pair.outcomes;
}

PyDoc_STRVAR(
    walker_compare_doc,
    "compare(pairs, otherwise) -> the outcomes of each pair\n\n"
    "Compare pairs of documents. A pair that is no tuple of two unparsed documents with\n"
    "members, or of one and MISSING, is passed to `otherwise`, which returns its outcomes.");

static PyObject *
walker_compare(Walker *walker, PyObject *args)
{
    PyObject *pairs, *otherwise, *all;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &pairs, &otherwise)) {
        return NULL;
    }
    all = PyList_New(0);
    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(pairs); i++) {
        PyObject *pair = Py_NewRef(PyList_GET_ITEM(pairs, i)), *outcomes = NULL;
        if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2
            && Py_IS_TYPE(PyTuple_GET_ITEM(pair, 0), &DocumentType)) {
            PyObject *found = PyTuple_GET_ITEM(pair, 1);
            if (found == walker->missing || Py_IS_TYPE(found, &DocumentType)) {
                outcomes = compare_documents(walker, (Document *)PyTuple_GET_ITEM(pair, 0),
                                             found == walker->missing ? NULL : (Document *)found);
            }
        }
        if (outcomes == NULL && !PyErr_Occurred()) {
            outcomes = PyObject_CallOneArg(otherwise, pair);
        }
        if (outcomes == NULL || PyList_Append(all, outcomes) < 0) {
            Py_CLEAR(all);
        }
        Py_XDECREF(outcomes);
        Py_DECREF(pair);
    }
    return all;
}

static PyMethodDef walker_methods[] = {
    {"compare", (PyCFunction)walker_compare, METH_VARARGS, walker_compare_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject WalkerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fieldmark.model._kernel.Walker",
    .tp_doc = "Compares documents under one plan.",
    .tp_basicsize = sizeof(Walker),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = walker_new,
    .tp_dealloc = (destructor)walker_dealloc,
    .tp_methods = walker_methods,
};

/* The constants that the Python code has too, or that must not exceed one of its limits. */
static const struct {
    const char *name;
    double value;
} constants[] = {
#define CONSTANT(name) {#name, (double)(name)}
    CONSTANT(MAX_DEPTH),
    CONSTANT(PER_VALUE),
    CONSTANT(LARGEST_EXACT),
    CONSTANT(LONGEST_TEXT),
    CONSTANT(MOST_PAIRS),
    CONSTANT(MOST_CHARACTER_PAIRS),
    CONSTANT(MOST_WORK),
    CONSTANT(LEAF_COST),
    CONSTANT(COLUMN_COST),
    CONSTANT(CALL_COST),
    CONSTANT(MOST_SIMILARITIES),
    CONSTANT(SLACK),
    CONSTANT(TINY),
    CONSTANT(LIMIT_MARGIN),
    CONSTANT(WEIGHT_UNIT),
    CONSTANT(SHORT_DECIMALS),
    CONSTANT(MARGIN),
    CONSTANT(TO_WHOLE),
    CONSTANT(CELL_BITS),
    CONSTANT(LANES),
    CONSTANT(SMALL_CASE),
    /* flags of attributes */
    CONSTANT(WALKS),
    CONSTANT(ALIGNS),
    CONSTANT(IS_LEAF),
    CONSTANT(TRUTH_ONLY),
    CONSTANT(SKIPPED),
    CONSTANT(WHOLE_RULE),
    CONSTANT(RULED),
    CONSTANT(GREEDY),
    CONSTANT(EXACT),
    /* presences */
    CONSTANT(ABSENT),
    CONSTANT(NULL_VALUE),
    CONSTANT(BLANK),
    CONSTANT(VALUE),
    /* fields of comparisons */
    CONSTANT(SCORE),
    CONSTANT(SIMILARITY),
    CONSTANT(REASON),
    CONSTANT(COERCED),
    CONSTANT(AMBIGUOUS),
    CONSTANT(APPROXIMATE),
    CONSTANT(NOTE),
    CONSTANT(COMPARISON_SIZE),
#undef CONSTANT
};

/* `CONSTANTS`, by which a test compares them with those of the Python code. */
static PyObject *
constants_by_name(void)
{
    PyObject *by_name = PyDict_New();
    for (size_t i = 0; by_name != NULL && i < sizeof constants / sizeof constants[0]; i++) {
        PyObject *value = PyFloat_FromDouble(constants[i].value);
        if (value == NULL || PyDict_SetItemString(by_name, constants[i].name, value) < 0) {
            Py_CLEAR(by_name);
        }
        Py_XDECREF(value);
    }
    return by_name;
}

static PyMethodDef functions[] = {
    {"read", read_block, METH_VARARGS, read_doc},
    {"is_strict", is_strict, METH_VARARGS, is_strict_doc},
    {"document", document, METH_O, document_doc},
    {"find_document", find_document, METH_VARARGS, find_document_doc},
    {"hash_ids", hash_ids, METH_VARARGS, hash_ids_doc},
    {"count_lines", count_lines, METH_O, count_lines_doc},
    {"count", count, METH_O, count_doc},
    {"sum_cells", sum_cells, METH_VARARGS, sum_cells_doc},
    {"row", row, METH_VARARGS, row_doc},
    {"divide_row", (PyCFunction)(void (*)(void))divide_row, METH_FASTCALL, divide_row_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fieldmark.model._kernel",
    .m_doc = "The compiled comparison of documents.",
    .m_size = -1,
    .m_methods = functions,
};

/* The seed is the hash of a string, which Python seeds with a secret. */
static int
set_seed(void)
{
    PyObject *text = PyUnicode_FromString("fieldmark");
    if (text == NULL) {
        return 0;
    }
    seed = (uint64_t)PyObject_Hash(text);
    Py_DECREF(text);
    return 1;
}

PyMODINIT_FUNC
PyInit__kernel(void)
{
    const char *pure = getenv("FIELDMARK_PURE");
    PyObject *module, *by_name;
    if (pure != NULL && strcmp(pure, "1") == 0) {
        PyErr_SetString(PyExc_ImportError, "FIELDMARK_PURE=1 selects the Python code");
        return NULL;
    }
    if (!set_seed() || PyType_Ready(&DocumentType) < 0 || PyType_Ready(&WalkerType) < 0) {
        return NULL;
    }
    module = PyModule_Create(&definition);
    by_name = constants_by_name();
    if (module != NULL
        && (PyModule_AddObjectRef(module, "Document", (PyObject *)&DocumentType) < 0
            || PyModule_AddObjectRef(module, "Walker", (PyObject *)&WalkerType) < 0
            || PyModule_AddObjectRef(module, "CONSTANTS", by_name) < 0)) {
        Py_CLEAR(module);
    }
    Py_XDECREF(by_name);
    return module;
}
