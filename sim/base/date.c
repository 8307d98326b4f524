/* Days from a civil date and back by eras of 400 years, which have 146,097 days: Howard Hinnant,
 * "chrono-compatible low-level date algorithms", days_from_civil and civil_from_days. */
#include "base/date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    DAYS_PER_ERA = 146097,
    YEARS_PER_ERA = 400,
    MONTHS_PER_YEAR = 12,
    EPOCH = 719468, /* from the first of March of the year 0 to 1970-01-01 */
    SECONDS_OF_DAY = 86400,
    YEAR_LEAST = 1000
};

struct civil {
    int64_t year;
    int64_t month, day; /* from 1 */
};

/* Years begin in March, so that a leap day is a year's last. */
static int64_t day_of(struct civil date)
{
    const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
    const int64_t era = year / YEARS_PER_ERA;
    const int64_t of_era = year - era * YEARS_PER_ERA;
    const int64_t of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    return era * DAYS_PER_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH;
}

static struct civil civil_of(int64_t day)
{
    const int64_t from_march = day + EPOCH;
    const int64_t era = from_march / DAYS_PER_ERA;
    const int64_t of_era = from_march - era * DAYS_PER_ERA;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * of_year + 2) / 153;
    const struct civil date = {.day = of_year - (153 * month + 2) / 5 + 1,
                               .month = month + (month < 10 ? 3 : -9),
                               .year = year + era * YEARS_PER_ERA};
    return (struct civil){date.year + (date.month <= 2 ? 1 : 0), date.month, date.day};
}

static bool are_digits(const char *text, size_t count, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        *number = 10 * *number + (text[i] - '0');
    }
    return true;
}

bool date_parse(const char *text, int64_t *day)
{
    struct civil date;
    if (strlen(text) != strlen("2026-09-01") || text[4] != '-' || text[7] != '-' ||
        !are_digits(text, 4, &date.year) || !are_digits(text + 5, 2, &date.month) ||
        !are_digits(text + 8, 2, &date.day) || date.year < YEAR_LEAST || date.month < 1 ||
        date.month > MONTHS_PER_YEAR || date.day < 1) {
        return false;
    }
    *day = day_of(date);
    const struct civil back = civil_of(*day); /* the 30th of February is another day */
    return back.month == date.month && back.day == date.day;
}

const char *date_text(int64_t day, char text[DATE_BYTES])
{
    const struct civil date = civil_of(day);
    snprintf(text, DATE_BYTES, "%04d-%02d-%02d", (int)date.year, (int)date.month, (int)date.day);
    return text;
}

int64_t date_month(int64_t day, int64_t months)
{
    const struct civil date = civil_of(day);
    const int64_t number = date.year * MONTHS_PER_YEAR + date.month - 1 + months;
    return day_of((struct civil){number / MONTHS_PER_YEAR, number % MONTHS_PER_YEAR + 1, 1});
}

int64_t date_host_today(void)
{
    return (int64_t)time(NULL) / SECONDS_OF_DAY;
}
