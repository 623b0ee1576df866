//! The best one-to-one assignment of rows to columns: as many pairs as there can be, and of these the cheapest in total.

/// Pairs of a row and a column that fit, by row. `costs[row][column]` says how badly they fit, and is none where they do not;
/// all rows have the same length.
///
/// This is the Hungarian method: rows are taken in one after the other, each along the cheapest path of exchanges, which
/// potentials of rows and columns keep free of negative steps. It takes rows² · (rows + columns) steps: the rows are the expected
/// issues of one case, of which there are few. Among equally good assignments it depends on the order alone which one it is.
pub(super) fn assignment(costs: &[Vec<Option<u32>>]) -> Vec<(usize, usize)> {
    let rows = costs.len();
    let columns = costs.first().map_or(0, Vec::len);
    let highest = costs.iter().flatten().flatten().max().copied().unwrap_or_default();
    // Dearer than all other rows together can be, so that no saving is worth a pair less.
    let alone = i64::from(highest) * rows as i64 + 1;
    let cost = |row: usize, column: usize| match costs[row].get(column) {
        Some(Some(cost)) => i64::from(*cost),
        // Beyond the last column there is one for each row that stays alone.
        Some(None) | None => alone,
    };
    // Rows and columns count from 1: column 0 is where the row that is being taken in stands, row 0 is nobody.
    let width = columns + rows;
    let mut row_potential = vec![0; rows + 1];
    let mut column_potential = vec![0; width + 1];
    let mut row_in = vec![0; width + 1];
    for new in 1..=rows {
        row_in[0] = new;
        let mut least = vec![i64::MAX; width + 1];
        let mut before = vec![0; width + 1];
        let mut is_done = vec![false; width + 1];
        let mut at = 0;
        while row_in[at] != 0 {
            is_done[at] = true;
            let row = row_in[at];
            let (mut step, mut next) = (i64::MAX, 0);
            for column in (1..=width).filter(|column| !is_done[*column]) {
                let cost =
                    cost(row - 1, column - 1) - row_potential[row] - column_potential[column];
                if cost < least[column] {
                    (least[column], before[column]) = (cost, at);
                }
                if least[column] < step {
                    (step, next) = (least[column], column);
                }
            }
            for column in 0..=width {
                if is_done[column] {
                    row_potential[row_in[column]] += step;
                    column_potential[column] -= step;
                } else {
                    least[column] -= step;
                }
            }
            at = next;
        }
        while at != 0 {
            row_in[at] = row_in[before[at]];
            at = before[at];
        }
    }
    let taken =
        (0..columns).filter_map(|column| Some((row_in[column + 1].checked_sub(1)?, column)));
    let mut pairs: Vec<_> = taken.filter(|(row, column)| costs[*row][*column].is_some()).collect();
    pairs.sort_unstable();
    pairs
}
