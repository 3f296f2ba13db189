/*
 * dtype_rows.c: the table of data types, one row a type, and what is known and not served.
 *
 * numpy has no bfloat16, float8 or int4; ml_dtypes adds them, and np.save writes them as raw bytes: "<V2", "|V1". The
 * integers are shown as numpy's int8 and uint8, which hold their values.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "meta/meta_impl.h"

const char dtype_raw_bits[] = "r<N>";

#define NUMBER(name, kind, code, size)                                                                                 \
	{                                                                                                                  \
		name, kind, code, size, size, 0, NULL                                                                          \
	}
#define NARROW(name, kind, code, bits)                                                                                 \
	{                                                                                                                  \
		name, kind, code, 1, 1, bits, NULL                                                                             \
	}
#define FLOAT(name, code, size, format)                                                                                \
	{                                                                                                                  \
		name, DTYPE_FLOAT, code, size, size, 0, &float_formats[format]                                                 \
	}
#define COMPLEX(name, code, size, format)                                                                              \
	{                                                                                                                  \
		name, DTYPE_COMPLEX, code, size, size / 2, 0, &float_formats[format]                                           \
	}
#define NARROW_FLOAT(name, bits, format)                                                                               \
	{                                                                                                                  \
		name, DTYPE_FLOAT, 'V', 1, 1, bits, &float_formats[format]                                                     \
	}
#define NARROW_COMPLEX(name, bits, format)                                                                             \
	{                                                                                                                  \
		name, DTYPE_COMPLEX, 'V', 2, 1, bits, &float_formats[format]                                                   \
	}
#define COUNTED(name, kind, code, swap_unit)                                                                           \
	{                                                                                                                  \
		name, kind, code, 0, swap_unit, 0, NULL                                                                        \
	}

/* Of several rows with the same code and size, the first is what a typestring becomes in v3. */
static const struct dtype_row rows[] = {
	NUMBER("bool", DTYPE_BOOL, 'b', 1),
	NUMBER("int8", DTYPE_INT, 'i', 1),
	NUMBER("int16", DTYPE_INT, 'i', 2),
	NUMBER("int32", DTYPE_INT, 'i', 4),
	NUMBER("int64", DTYPE_INT, 'i', 8),
	NUMBER("uint8", DTYPE_UINT, 'u', 1),
	NUMBER("uint16", DTYPE_UINT, 'u', 2),
	NUMBER("uint32", DTYPE_UINT, 'u', 4),
	NUMBER("uint64", DTYPE_UINT, 'u', 8),
	FLOAT("float16", 'f', 2, FLOAT16),
	FLOAT("float32", 'f', 4, FLOAT32),
	FLOAT("float64", 'f', 8, FLOAT64),
	COMPLEX("complex64", 'c', 8, FLOAT32),
	COMPLEX("complex128", 'c', 16, FLOAT64),
	COMPLEX("complex_float32", 'c', 8, FLOAT32),
	COMPLEX("complex_float64", 'c', 16, FLOAT64),
	COUNTED(dtype_raw_bits, DTYPE_RAW, 'V', 1),
	COUNTED("raw_bytes", DTYPE_RAW, 'V', 1),
	COUNTED("null_terminated_bytes", DTYPE_BYTES, 'S', 1),
	COUNTED("fixed_length_utf32", DTYPE_UNICODE, 'U', 4),
	NUMBER("numpy.datetime64", DTYPE_DATETIME, 'M', 8),
	NUMBER("numpy.timedelta64", DTYPE_TIMEDELTA, 'm', 8),
	NARROW("int2", DTYPE_INT, 'i', 2),
	NARROW("int4", DTYPE_INT, 'i', 4),
	NARROW("uint2", DTYPE_UINT, 'u', 2),
	NARROW("uint4", DTYPE_UINT, 'u', 4),
	FLOAT("bfloat16", 'V', 2, BFLOAT16),
	FLOAT("float8_e3m4", 'V', 1, FLOAT8_E3M4),
	FLOAT("float8_e4m3", 'V', 1, FLOAT8_E4M3),
	FLOAT("float8_e4m3b11fnuz", 'V', 1, FLOAT8_E4M3B11FNUZ),
	FLOAT("float8_e4m3fn", 'V', 1, FLOAT8_E4M3FN),
	FLOAT("float8_e4m3fnuz", 'V', 1, FLOAT8_E4M3FNUZ),
	FLOAT("float8_e5m2", 'V', 1, FLOAT8_E5M2),
	FLOAT("float8_e5m2fnuz", 'V', 1, FLOAT8_E5M2FNUZ),
	FLOAT("float8_e8m0fnu", 'V', 1, FLOAT8_E8M0FNU),
	NARROW_FLOAT("float6_e2m3fn", 6, FLOAT6_E2M3FN),
	NARROW_FLOAT("float6_e3m2fn", 6, FLOAT6_E3M2FN),
	NARROW_FLOAT("float4_e2m1fn", 4, FLOAT4_E2M1FN),
	COMPLEX("complex_bfloat16", 'V', 4, BFLOAT16),
	COMPLEX("complex_float16", 'V', 4, FLOAT16),
	COMPLEX("complex_float8_e3m4", 'V', 2, FLOAT8_E3M4),
	COMPLEX("complex_float8_e4m3", 'V', 2, FLOAT8_E4M3),
	COMPLEX("complex_float8_e4m3b11fnuz", 'V', 2, FLOAT8_E4M3B11FNUZ),
	COMPLEX("complex_float8_e4m3fnuz", 'V', 2, FLOAT8_E4M3FNUZ),
	COMPLEX("complex_float8_e5m2", 'V', 2, FLOAT8_E5M2),
	COMPLEX("complex_float8_e5m2fnuz", 'V', 2, FLOAT8_E5M2FNUZ),
	COMPLEX("complex_float8_e8m0fnu", 'V', 2, FLOAT8_E8M0FNU),
	NARROW_COMPLEX("complex_float6_e2m3fn", 6, FLOAT6_E2M3FN),
	NARROW_COMPLEX("complex_float6_e3m2fn", 6, FLOAT6_E3M2FN),
	NARROW_COMPLEX("complex_float4_e2m1fn", 4, FLOAT4_E2M1FN),
};

/* Types that are known and not served. */
static const char *const variable_length[] = {
	"string", "bytes", "binary", "variable_length_bytes", "zarrs.optional",
};

static char known_names[2048];

static void write_known_names(void)
{
	size_t at = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows) && at < sizeof(known_names); i++)
		at += (size_t)snprintf(known_names + at, sizeof(known_names) - at, "%s, ", rows[i].name);
	if (at < sizeof(known_names))
		snprintf(known_names + at, sizeof(known_names) - at, "struct, structured");
}

const char *dtype_known(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, write_known_names);
	return known_names;
}

const struct dtype_row *dtype_find_name(const char *name)
{
	if (name[0] == 'r' && name[1] && strspn(name + 1, "0123456789") == strlen(name + 1))
		name = dtype_raw_bits;
	else if (strcmp(name, dtype_raw_bits) == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(name, rows[i].name) == 0)
			return &rows[i];
	return NULL;
}

const struct dtype_row *dtype_find_code(char code, uint32_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].code == code && (rows[i].size == size || rows[i].size == 0))
			return &rows[i];
	return NULL;
}

bool dtype_row_is_foreign(const struct dtype_row *row)
{
	return row->bits || (row->code == 'V' && row->floats);
}

int dtype_refuse(const char *what, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(variable_length); i++)
		if (strcmp(name, variable_length[i]) == 0)
			return err_set(ENOTSUP, "%s: \"%s\" is not supported: its elements have no fixed size", what, name);
	return err_set(ENOTSUP, "%s: unknown data type \"%.64s\"", what, name);
}
