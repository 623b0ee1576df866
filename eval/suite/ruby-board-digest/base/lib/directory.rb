# frozen_string_literal: true

require "json"

# The members' directory, a service of its own. Every call is one request over
# the association's slow link (some 80 ms).
class Directory
  Member = Struct.new(:id, :name, :chapter)

  # `http` answers `get(path)` with the body of the response.
  def initialize(http)
    @http = http
  end

  def member(id)
    members([id]).fetch(id)
  end

  # The members with these ids, by id. Any number of ids in one request; an id
  # that nobody has (any more) comes back as "former member".
  def members(ids)
    return {} if ids.empty?

    JSON.parse(@http.get("/members?ids=#{ids.uniq.join(',')}")).to_h do |record|
      [record["id"], Member.new(record["id"], record["name"], record["chapter"])]
    end
  end
end
