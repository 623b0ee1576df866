# frozen_string_literal: true

# One post as it is shown in mails: title, who wrote it and what followed.
class PostLine
  def initialize(post, directory)
    @post = post
    @directory = directory
  end

  def to_s
    "* #{@post.title} (#{by}, #{replies})"
  end

  private

  def by
    author.chapter ? "#{author.name} of #{author.chapter}" : author.name
  end

  def replies
    case @post.replies
    when 0 then "no replies"
    when 1 then "1 reply"
    else "#{@post.replies} replies"
    end
  end

  def author
    @author ||= @directory.member(@post.author_id)
  end
end
