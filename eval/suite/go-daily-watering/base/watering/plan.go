// Package watering decides when the valves open.
package watering

import "time"

// Plan says when a valve opens: at a time of day, every day, in the zone of
// the garden.
type Plan struct {
	Hour, Minute int
	Zone         *time.Location
}

// Next returns the first opening after a point in time.
func (p Plan) Next(after time.Time) time.Time {
	local := after.In(p.Zone)
	next := p.on(local, 0)
	if !next.After(after) {
		next = p.on(local, 1)
	}
	return next
}

// on returns the opening some days after the day of t, which is in p.Zone.
func (p Plan) on(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, p.Hour, p.Minute, 0, 0, p.Zone)
}
