# frozen_string_literal: true

require_relative "folder"

# The plain-text listing that members get by mail.
class Listing
  def initialize(folder)
    @folder = folder
  end

  def to_s
    @folder.names.map { |name| "#{name}\t#{@folder.size(name)}" }.join("\n")
  end
end
