/* Empty on purpose: bcc includes this name, our program needs nothing from it. */
