package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// idFilters are the filters of a query on columns with row ids. The calls of the first one are
// read, unless other is set: then an index serves another filter.
type idFilters struct {
	list       []idFilter
	otherIndex bool
}

type idFilter struct {
	column string
	ids    []any
}

// chooseFirst moves the filter that fewest calls within the bounds match to the front. It counts at
// most manyCalls calls of each.
func (f *idFilters) chooseFirst(ctx context.Context, db queryer, after, before int64) error {
	if len(f.list) == 0 || len(f.list) == 1 && !f.otherIndex {
		return nil
	}
	if before == 0 {
		before = 1 << 62
	}
	best, fewest := 0, manyCalls
	for i, one := range f.list {
		n := 0
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM call c WHERE `+one.column+` IN (`+placeholders(len(one.ids))+`) AND c.id > ? AND c.id < ? LIMIT ?)`,
			append(slices.Clone(one.ids), after, before, manyCalls)...).Scan(&n)
		if err != nil {
			return err
		}
		if n < fewest || n == fewest && len(one.ids) < len(f.list[best].ids) {
			best, fewest = i, n
		}
	}
	f.list[0], f.list[best] = f.list[best], f.list[0]
	f.otherIndex = f.otherIndex && fewest == manyCalls
	return nil
}

// needsCallScan reports whether an index may contain many calls that other filters reject, or that
// have to be sorted.
func (f *idFilters) needsCallScan() bool {
	return len(f.list) > 1 || len(f.list) == 1 && (f.otherIndex || len(f.list[0].ids) > 1)
}

// recentCalls is the number of calls that are searched for a page before an index is used.
const recentCalls = 2000

// manyCalls is how many calls of a filter are counted to find the filter that fewest calls match.
const manyCalls = 10_000

// add adds the filters to the conditions. The prefix "+" keeps SQLite from using their indexes.
func (f idFilters) add(prefix string, where []string, args []any) ([]string, []any) {
	for _, one := range f.list {
		where, args = append(where, prefix+one.column+` IN (`+placeholders(len(one.ids))+`)`), append(args, one.ids...)
	}
	return where, args
}

// newestFrom returns an id that about limit calls of a filter with several ids have after it, so
// that SQLite does not sort all calls of the filter; 0 if it has fewer, or if there is another
// filter.
func (f idFilters) newestFrom(ctx context.Context, db queryer, q Query, limit int) (int64, error) {
	if len(f.list) != 1 || len(f.list[0].ids) == 1 || f.otherIndex {
		return 0, nil
	}
	one := f.list[0]
	after, before := q.bounds()
	hasMore := func(from int64) (more bool, err error) {
		err = db.QueryRowContext(ctx, `SELECT count(*) > ? FROM (SELECT 1 FROM call c WHERE `+one.column+` IN (`+placeholders(len(one.ids))+`) AND c.id > ? AND c.id < ? LIMIT ?)`,
			slices.Concat([]any{limit}, one.ids, []any{from, cmp.Or(before, 1<<62), limit + 1})...).Scan(&more)
		return more, err
	}
	var first, last int64
	if err := db.QueryRowContext(ctx, `SELECT coalesce((SELECT min(id) FROM call), 0), coalesce((SELECT max(id) FROM call), 0)`).Scan(&first, &last); err != nil {
		return 0, err
	}
	low, high := max(after, first-1), min(cmp.Or(before, last+1), last+1)
	if more, err := hasMore(low); err != nil || !more {
		return 0, err
	}
	for precision := (high - low) / 4096; high-low > max(precision, 1); {
		middle := low + (high-low)/2
		switch more, err := hasMore(middle); {
		case err != nil:
			return 0, err
		case more:
			low = middle
		default:
			high = middle
		}
	}
	return low, nil
}

// newest adds the filters to the conditions of a query for the newest calls, so that SQLite reads
// the index of the first filter from its end. For several ids it would sort all their calls;
// therefore the newest ones of each id are selected first.
func (f idFilters) newest(where []string, args []any, limit int) ([]string, []any) {
	if len(f.list) == 0 || f.otherIndex {
		return f.add("+", where, args)
	}
	first := f.list[0]
	where, args = idFilters{list: f.list[1:]}.add("+", where, args)
	if len(first.ids) == 1 {
		return append(where, first.column+` = ?`), append(args, first.ids...)
	}
	each := `SELECT c.id FROM call c WHERE ` + strings.Join(append(where, first.column+` = x.value`), ` AND `) + ` ORDER BY c.id DESC LIMIT ?`
	ids, _ := json.Marshal(first.ids) // integers
	return []string{`c.id IN (SELECT y.value FROM json_each(?) x, json_each((SELECT json_group_array(id) FROM (` + each + `))) y ORDER BY 1 DESC LIMIT ?)`},
		slices.Concat([]any{string(ids)}, args, []any{limit, limit})
}
