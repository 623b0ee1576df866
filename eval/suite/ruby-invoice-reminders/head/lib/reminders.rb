# frozen_string_literal: true

require_relative "invoice"

# Decides which customers get a reminder today.
class Reminders
  GRACE_DAYS = 5
  REPEAT_DAYS = 14
  FINAL_DAYS = 47 # the fourth reminder is the last one

  def initialize(invoices)
    @invoices = invoices
  end

  # The open invoices that are to be reminded of on the given day.
  def due(today)
    @invoices.select do |invoice|
      next false if !invoice.open? || invoice.disputed?

      days = invoice.days_overdue(today)
      days.between?(GRACE_DAYS, FINAL_DAYS) && ((days - GRACE_DAYS) % REPEAT_DAYS).zero?
    end
  end

  def text(invoice, today)
    days = invoice.days_overdue(today)
    amount = format("%d.%02d", *invoice.cents.divmod(100))
    reminder = "Invoice #{invoice.number} over #{amount} has been due for #{days} days."
    if days >= FINAL_DAYS
      "#{reminder} This is the last reminder before we hand it over."
    else
      reminder
  end
end
