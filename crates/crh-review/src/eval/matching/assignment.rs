//! Best one-to-one assignment of rows to columns: as many pairs as possible, then the lowest total
//! cost.

/// Pairs of matching rows and columns, by row. `costs[row][column]` is `None` if row and column do
/// not match; all rows have the same length.
///
/// Hungarian algorithm: adds one row at a time along the cheapest augmenting path. The algorithm
/// takes rows² · (rows + columns) steps. The order of rows and columns decides ties.
pub(super) fn assignment(costs: &[Vec<Option<u32>>]) -> Vec<(usize, usize)> {
    let rows = costs.len();
    let columns = costs.first().map_or(0, Vec::len);
    let max_cost = costs.iter().flatten().flatten().max().copied().unwrap_or_default();
    // Higher than the cost of all other rows together, so that one more pair always outweighs a
    // lower cost.
    let unmatched_cost = i64::from(max_cost) * rows as i64 + 1;
    let cost = |row: usize, column: usize| match costs[row].get(column) {
        Some(Some(cost)) => i64::from(*cost),
        // Row and column do not match, or the column is after the last real one. There is one such
        // column per row, for rows that stay unmatched.
        Some(None) | None => unmatched_cost,
    };
    // Rows and columns count from 1: column 0 holds the row being added, row 0 means none.
    let width = columns + rows;
    let mut row_potential = vec![0; rows + 1];
    let mut column_potential = vec![0; width + 1];
    let mut row_in = vec![0; width + 1];
    for new_row in 1..=rows {
        row_in[0] = new_row;
        let mut min_costs = vec![i64::MAX; width + 1];
        let mut previous_columns = vec![0; width + 1];
        let mut is_visited = vec![false; width + 1];
        let mut current_column = 0;
        while row_in[current_column] != 0 {
            is_visited[current_column] = true;
            let row = row_in[current_column];
            let (mut step, mut next_column) = (i64::MAX, 0);
            for column in (1..=width).filter(|column| !is_visited[*column]) {
                let reduced_cost =
                    cost(row - 1, column - 1) - row_potential[row] - column_potential[column];
                if reduced_cost < min_costs[column] {
                    (min_costs[column], previous_columns[column]) = (reduced_cost, current_column);
                }
                if min_costs[column] < step {
                    (step, next_column) = (min_costs[column], column);
                }
            }
            for column in 0..=width {
                if is_visited[column] {
                    row_potential[row_in[column]] += step;
                    column_potential[column] -= step;
                } else {
                    min_costs[column] -= step;
                }
            }
            current_column = next_column;
        }
        while current_column != 0 {
            row_in[current_column] = row_in[previous_columns[current_column]];
            current_column = previous_columns[current_column];
        }
    }
    let assigned =
        (0..columns).filter_map(|column| Some((row_in[column + 1].checked_sub(1)?, column)));
    let mut pairs: Vec<_> =
        assigned.filter(|(row, column)| costs[*row][*column].is_some()).collect();
    pairs.sort_unstable();
    pairs
}
