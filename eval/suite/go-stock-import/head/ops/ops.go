// Package ops has the operations of the warehouse desk.
package ops

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"example.org/warehouse/stock"
)

// Import books a delivery list: CSV rows of article and quantity. Either all
// rows are booked or none. Returns the number of rows.
func Import(s *stock.Store, r io.Reader) (int, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = 2
	var err error
	tx := s.Begin()
	defer tx.Finish(&err)
	count := 0
	for {
		row, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("delivery list: %w", err)
		}
		quantity, err := strconv.Atoi(row[1])
		if err != nil {
			return 0, fmt.Errorf("delivery list, row %d: %w", count+1, err)
		}
		if err := tx.Adjust(row[0], quantity); err != nil {
			return 0, fmt.Errorf("delivery list, row %d: %w", count+1, err)
		}
		count++
	}
	return count, nil
}

// Swap replaces items of one article by as many of another.
func Swap(s *stock.Store, out, in string, quantity int) (err error) {
	tx := s.Begin()
	defer tx.Finish(&err)
	if err := tx.Adjust(out, -quantity); err != nil {
		return err
	}
	return tx.Adjust(in, quantity)
}
