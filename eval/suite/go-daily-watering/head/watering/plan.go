// Package watering decides when the valves open.
package watering

import (
	"errors"
	"time"
)

// Days is a set of weekdays; bit 0 is Sunday, as in time.Weekday.
type Days uint8

// EveryDay has all weekdays.
const EveryDay Days = 1<<7 - 1

// On returns the set of the given weekdays.
func On(weekdays ...time.Weekday) Days {
	var days Days
	for _, w := range weekdays {
		days |= 1 << w
	}
	return days
}

// Has says whether a weekday is in the set.
func (d Days) Has(w time.Weekday) bool {
	return d&(1<<w) != 0
}

// ErrPlan is returned for plans that make no sense.
var ErrPlan = errors.New("watering: invalid plan")

// Plan says when a valve opens: at a time of day on some weekdays, in the
// zone of the garden. Use NewPlan.
type Plan struct {
	hour, minute int
	days         Days
	zone         *time.Location
}

// NewPlan returns a plan. There must be at least one day.
func NewPlan(hour, minute int, days Days, zone *time.Location) (Plan, error) {
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || zone == nil {
		return Plan{}, ErrPlan
	}
	if days&EveryDay == 0 {
		return Plan{}, ErrPlan
	}
	return Plan{hour: hour, minute: minute, days: days, zone: zone}, nil
}

// Next returns the first opening after a point in time.
func (p Plan) Next(after time.Time) time.Time {
	local := after.In(p.zone)
	for days := 0; ; days++ {
		weekday := (local.Weekday() + time.Weekday(days)) % 7
		if !p.days.Has(weekday) {
			continue
		}
		if next := p.on(local, days); next.After(after) {
			return next
		}
	}
}

// on returns the opening some days after the day of t, which is in p.zone.
func (p Plan) on(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, p.hour, p.minute, 0, 0, p.zone)
}
