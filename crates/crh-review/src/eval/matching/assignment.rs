//! Best one-to-one assignment of rows to columns: as many pairs as possible, then the lowest total
//! cost.

/// Pairs of matching rows and columns, by row. `costs[row][column]` is `None` if they do not match;
/// all rows have the same length.
///
/// Hungarian algorithm: adds one row at a time along the cheapest augmenting path. It takes rows² ·
/// (rows + columns) steps. Ties depend on the order only.
pub(super) fn assignment(costs: &[Vec<Option<u32>>]) -> Vec<(usize, usize)> {
    let rows = costs.len();
    let columns = costs.first().map_or(0, Vec::len);
    let highest = costs.iter().flatten().flatten().max().copied().unwrap_or_default();
    // More than all other rows can cost together, so that pairs take precedence over cost.
    let alone = i64::from(highest) * rows as i64 + 1;
    let cost = |row: usize, column: usize| match costs[row].get(column) {
        Some(Some(cost)) => i64::from(*cost),
        // One extra column per row that stays unmatched.
        Some(None) | None => alone,
    };
    // Rows and columns count from 1: column 0 holds the row being added, row 0 means none.
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
